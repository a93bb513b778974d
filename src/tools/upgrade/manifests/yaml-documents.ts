/** Splits a YAML stream into documents as kubectl does, at lines that begin with "---", and parses each of them. */
import { parseYaml, YamlError } from "../../../objects/yaml/yaml.ts";
import type { ComposedYaml } from "../../../objects/yaml/yaml-compose.ts";
import { deficientLine, indentValue } from "./continuation-lines.ts";
import type { ReadDocument } from "./read-manifests.ts";

const SEPARATOR = /^---(?:[ \t].*)?$/;
const SOURCE = /^# Source: (\S.*)$/;
const DOCUMENTS_MAX = 200_000;
const SOURCE_LENGTH_MAX = 300;
/** Limits the repetitions of the parser, which reads the document from the begin each time. */
const REPAIR_CHARACTERS_MAX = 200_000_000;
/** Cost of the search for the begin of a value. */
const REPAIR_COST = 20_000;
/** As in goyaml, a key that overrides a merged one counts as set twice; for users it is not a mistake. */
const MERGE_KEY = /^\s*(?:- +)*<<\s*:/;

export function readYamlDocuments(text: string): readonly ReadDocument[] {
  const documents: ReadDocument[] = [];
  let lines: string[] = [];
  let firstLine = 1;
  let lineNumber = 0;
  const budget: Budget = { characters: REPAIR_CHARACTERS_MAX };
  for (const line of splitLines(text)) {
    lineNumber += 1;
    if (!SEPARATOR.test(line)) {
      lines.push(line);
      continue;
    }
    documents.push(...readDocument(lines, firstLine, budget));
    if (documents.length > DOCUMENTS_MAX)
      return [...documents, { line: lineNumber, error: `has more than ${DOCUMENTS_MAX} documents` }];
    lines = [];
    firstLine = lineNumber + 1;
  }
  documents.push(...readDocument(lines, firstLine, budget));
  return documents;
}

function splitLines(text: string): readonly string[] {
  return text.split("\n").map((line) => (line.endsWith("\r") ? line.slice(0, -1) : line));
}

/** Nothing for a document that has only comments. */
function readDocument(lines: readonly string[], firstLine: number, budget: Budget): ReadDocument[] {
  const begin = lines.findIndex((line) => /^\s*[^\s#]/.test(line));
  if (begin < 0) return [];
  const source = sourceIn(lines.slice(0, begin));
  const line = firstLine + begin;
  try {
    const { value, repeatedKeys } = parseLikeKubectl(lines, budget);
    const isMerged = repeatedKeys.length > 0 && lines.some((one) => MERGE_KEY.test(one));
    const named = isMerged ? [] : repeatedKeys.map((message) => moved(message, firstLine));
    return [{ line, value, repeatedKeys: named, ...(source !== undefined && { source }) }];
  } catch (thrown) {
    if (!(thrown instanceof YamlError)) throw thrown;
    return [{ line, error: withoutValues(moved(thrown.message, firstLine)) }];
  }
}

interface Budget {
  characters: number;
}

/** Parses the document; after an error about the indentation of a continuation line, a second time without it. */
function parseLikeKubectl(lines: readonly string[], budget: Budget): ComposedYaml {
  const text = lines.join("\n");
  const indented = [...lines];
  for (;;) {
    const source = indented.join("\n");
    try {
      return parseYaml(source);
    } catch (thrown) {
      const line = thrown instanceof YamlError ? deficientLine(thrown.message) : undefined;
      budget.characters -= source.length + REPAIR_COST;
      if (line === undefined || budget.characters < 0 || !indentValue(indented, line)) return parseYaml(text);
    }
  }
}

function sourceIn(comments: readonly string[]): string | undefined {
  return comments.flatMap((line) => SOURCE.exec(line)?.[1]?.trim().slice(0, SOURCE_LENGTH_MAX) ?? []).at(-1);
}

/** The message with the line of the file instead of the line of the document. */
function moved(message: string, firstLine: number): string {
  return message.replace(/^(yaml: )?line (\d+):/, (_, label: string | undefined, line: string) => {
    return `${label ?? ""}line ${Number(line) + firstLine - 1}:`;
  });
}

/** A message may quote the value that it is about, which may be that of a Secret. */
function withoutValues(message: string): string {
  return message.replace(/`[^`]*`/g, "a value");
}
