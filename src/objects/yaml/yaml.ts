/**
 * Reads and writes YAML as Kubernetes does (goyaml's mixture of 1.1 and 1.2).
 *
 * DIFFERS: from goyaml in rare syntax. Only line feeds end a line (not U+0085, U+2028, U+2029); continuation lines of
 * quoted text, flow lists and flow maps must be indented inside a block; `%YAML 1.2`, `\/` and escaped surrogate pairs
 * are accepted; every document of a stream must be well formed, though only the first is read; the message of a syntax
 * error is the parser's own where no counterpart is known.
 */
import {
  defineScalarTag,
  dump,
  DUMP_SCHEMA,
  NOT_RESOLVED,
  parseEvents,
  visit,
  YAMLException,
  type Document,
  type Event,
  type Node,
} from "js-yaml";
import { JSON_DEPTH_MAX } from "../json/json-text.ts";
import { composeYaml, type ComposedYaml } from "./yaml-compose.ts";
import { YamlError } from "./yaml-error.ts";
import { resolveScalar } from "./yaml-scalar.ts";

export { YamlError } from "./yaml-error.ts";

/**
 * Limit of commas and lines, which bound the number of nodes. Nodes are limited because each node needs far more memory
 * than its text.
 */
const NODES_MAX = 500_000;

/** Parses the first document to a plain JSON value. */
export function parseYaml(text: string): ComposedYaml {
  const source = text.startsWith("\ufeff") ? text.slice(1) : text;
  if (countSeparators(source) > NODES_MAX) throw new YamlError("yaml: the document has too many nodes");
  return composeYaml(source, readEvents(source));
}

function readEvents(source: string): Event[] {
  try {
    return parseEvents(source, { maxDepth: JSON_DEPTH_MAX });
  } catch (thrown) {
    if (!(thrown instanceof YAMLException)) throw new YamlError("yaml: the document cannot be parsed");
    throw new YamlError(
      `yaml: ${inGoWords(thrown.reason, { line: thrown.mark?.line ?? 0, character: source.charAt(thrown.mark?.position ?? 0) })}`,
    );
  }
}

function countSeparators(text: string): number {
  let count = 0;
  for (let at = 0; at < text.length; at++) {
    const code = text.charCodeAt(at);
    if (code === 0x2c || code === 0x0a) count++;
  }
  return count;
}

/** goyaml's messages for the most common mistakes, because users of kubectl know them. */
const GO_WORDS: readonly (readonly [RegExp, string])[] = [
  [/^nesting exceeded/, "exceeded max depth"],
  [/^tab characters/, "found character that cannot start any token"],
  [/null byte|non-printable/, "control characters are not allowed"],
  [/^unknown escape sequence/, "found unknown escape character"],
  [/end of the (stream|document) within a (single|double) quoted/, "found unexpected end of stream"],
  [/^bad indentation of a sequence entry/, "block sequence entries are not allowed in this context"],
  [/^missed comma between flow/, "did not find expected ',' or ']'"],
  [/^name of an (anchor|alias)/, "did not find expected alphabetic or numeric character"],
];

/** Messages of the parser about a misplaced character, for which the message of goyaml depends on the character. */
const MISPLACED = /^(bad indentation of a mapping entry|end of the stream or a document separator is expected)/;
const MISPLACED_WORDS: ReadonlyMap<string, string> = new Map([
  [":", "mapping values are not allowed in this context"],
  ["-", "block sequence entries are not allowed in this context"],
  ["?", "mapping keys are not allowed in this context"],
  ...["@", "`", "%", "\t"].map((character) => [character, "found character that cannot start any token"] as const),
]);

const UNFINISHED = /^deficient indentation|end of the stream within a flow/;

/**
 * The message with its line as in goyaml, which omits the line if it is the first one, and reports an unfinished list
 * or map one line earlier.
 */
function inGoWords(reason: string, { line, character }: { line: number; character: string }): string {
  if (UNFINISHED.test(reason) && character === "")
    return `line ${Math.max(1, line)}: did not find expected node content`;
  const where = line === 0 ? "" : `line ${line + 1}: `;
  if (MISPLACED.test(reason)) return where + (MISPLACED_WORDS.get(character) ?? reason);
  return where + (GO_WORDS.find(([pattern]) => pattern.test(reason))?.[1] ?? reason);
}

/** A tag that makes the writer quote every string that Kubernetes' YAML library would resolve to another type. */
const MISTAKABLE = defineScalarTag("tag:yaml.org,2002:mistakable", {
  implicit: true,
  resolve: (source) => (typeof resolveScalar(source, "") === "string" ? NOT_RESOLVED : source),
  identify: () => false,
});
const WRITING_SCHEMA = DUMP_SCHEMA.withTags(MISTAKABLE);

export function toYaml(value: unknown): string {
  return dump(value, { schema: WRITING_SCHEMA, noRefs: true, lineWidth: -1, transform: sortMembers });
}

function sortMembers(documents: Document[]): void {
  visit(documents, (node) => {
    if (node.kind === "mapping") node.items.sort((left, right) => (nameOf(left.key) < nameOf(right.key) ? -1 : 1));
  });
}

function nameOf(key: Node): string {
  return key.kind === "scalar" ? key.value : "";
}
