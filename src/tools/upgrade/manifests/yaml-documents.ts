/** Splits a YAML stream into documents as kubectl does, at lines that begin with "---", and parses each of them. */
import { parseYaml, YamlError } from "../../../objects/yaml/yaml.ts";
import type { ReadDocument } from "./read-manifests.ts";

const SEPARATOR = /^---(?:[ \t].*)?$/;
const SOURCE = /^# Source: (\S.*)$/;
const DOCUMENTS_MAX = 200_000;
const SOURCE_LENGTH_MAX = 300;

export function readYamlDocuments(text: string): readonly ReadDocument[] {
  const documents: ReadDocument[] = [];
  let lines: string[] = [];
  let firstLine = 1;
  let lineNumber = 0;
  for (const line of splitLines(text)) {
    lineNumber += 1;
    if (!SEPARATOR.test(line)) {
      lines.push(line);
      continue;
    }
    documents.push(...readDocument(lines, firstLine));
    if (documents.length > DOCUMENTS_MAX)
      return [...documents, { line: lineNumber, error: `has more than ${DOCUMENTS_MAX} documents` }];
    lines = [];
    firstLine = lineNumber + 1;
  }
  documents.push(...readDocument(lines, firstLine));
  return documents;
}

function splitLines(text: string): readonly string[] {
  return text.split("\n").map((line) => (line.endsWith("\r") ? line.slice(0, -1) : line));
}

/** Nothing for a document that has only comments. */
function readDocument(lines: readonly string[], firstLine: number): ReadDocument[] {
  const begin = lines.findIndex((line) => /^\s*[^\s#]/.test(line));
  if (begin < 0) return [];
  const source = sourceIn(lines.slice(0, begin));
  const line = firstLine + begin;
  try {
    const { value, repeatedKeys } = parseYaml(lines.join("\n"));
    const named = repeatedKeys.map((message) => moved(message, firstLine));
    return [{ line, value, repeatedKeys: named, ...(source !== undefined && { source }) }];
  } catch (thrown) {
    if (!(thrown instanceof YamlError)) throw thrown;
    return [{ line, error: withoutValues(moved(thrown.message, firstLine)) }];
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
