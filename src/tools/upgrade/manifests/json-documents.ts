/** Reads a file of one or more JSON values that follow each other, as kubectl and jq write them. */
import {
  describeSyntaxError,
  findDuplicateMembers,
  JSON_DEPTH_MAX,
  measureJson,
  parseJsonText,
} from "../../../objects/json/json-text.ts";
import type { ReadDocument } from "./read-manifests.ts";

const VALUES_MAX = 200_000;
/** As in YAML: each value needs far more memory than its text. */
const MEMBERS_MAX = 5_000_000;
/** Longer values are not searched for duplicate keys. */
const SCANNED_LENGTH_MAX = 4 * 1024 * 1024;

/** Undefined if the text is not JSON, but perhaps YAML that begins with a bracket. */
export function readJsonDocuments(text: string): readonly ReadDocument[] | undefined {
  const shape = measureJson(Buffer.from(text));
  if (shape.depth > JSON_DEPTH_MAX) return [{ line: 1, error: "is nested too deeply" }];
  if (shape.members > MEMBERS_MAX) return [{ line: 1, error: "has too many members" }];
  const documents: ReadDocument[] = [];
  let line = 1;
  for (const part of splitValues(text)) {
    const leading = /^\s*/.exec(part)?.[0] ?? "";
    const begin = line + countLines(leading);
    const value = parsed(part);
    if (value === undefined)
      return isYamlStream(text) ? undefined : [...documents, { line: begin, error: describeSyntaxError(part) }];
    documents.push({ line: begin, value, repeatedKeys: repeatedIn(part) });
    if (documents.length > VALUES_MAX) return [...documents, { line, error: `has more than ${VALUES_MAX} values` }];
    line += countLines(part);
  }
  return documents;
}

/** YAML has bare keys and comments, which JSON does not have. */
function isYamlStream(text: string): boolean {
  return /^---|^\s*#|[{,]\s*[A-Za-z_][\w.-]*\s*:/m.test(text);
}

function parsed(text: string): unknown {
  try {
    return parseJsonText(text);
  } catch (thrown) {
    if (!(thrown instanceof SyntaxError)) throw thrown;
    return undefined;
  }
}

/** Splits after each value, which ends when all its brackets are closed. */
function splitValues(text: string): readonly string[] {
  const parts: string[] = [];
  let [begin, depth] = [0, 0];
  for (let at = 0; at < text.length; at++) {
    const character = text.charAt(at);
    if (character === '"') at = endOfString(text, at);
    else if (character === "{" || character === "[") depth += 1;
    else if ((character === "}" || character === "]") && --depth <= 0) {
      parts.push(text.slice(begin, at + 1));
      begin = at + 1;
      depth = 0;
    }
  }
  const rest = text.slice(begin);
  return rest.trim() === "" ? parts : [...parts, rest];
}

/** The index of the closing quotation mark; the end of the text if there is none. */
function endOfString(text: string, begin: number): number {
  for (let at = begin + 1; at < text.length; at++) {
    const character = text.charAt(at);
    if (character === '"') return at;
    if (character === "\\") at += 1;
  }
  return text.length;
}

function repeatedIn(text: string): readonly string[] {
  if (text.length > SCANNED_LENGTH_MAX) return [];
  return findDuplicateMembers(text).map((path) => `key "${path}" already set in map`);
}

function countLines(text: string): number {
  return text.split("\n").length - 1;
}
