/** YAML as Kubernetes reads it (1.1, as goyaml does) and writes it. */
import { dump, load, YAML11_SCHEMA, YAMLException } from "js-yaml";
import { isJsonObject } from "../meta/json.ts";
import { JSON_DEPTH_MAX } from "./json-text.ts";

/** The text is no YAML, or expands to too much; the message reads as goyaml's. */
export class YamlError extends Error {
  override readonly name = "YamlError";
}

/** Values a document may have once its aliases are followed: a few bytes can stand for billions. */
const VALUES_MAX = 1_000_000;

/** A plain JSON value: dates become text, keys become strings. */
export function parseYaml(text: string): unknown {
  let value: unknown;
  try {
    value = load(text, { schema: YAML11_SCHEMA });
  } catch (thrown) {
    if (thrown instanceof YAMLException) throw new YamlError(`yaml: line ${(thrown.mark?.line ?? 0) + 1}: ${inGoWords(thrown.reason)}`);
    throw new YamlError("yaml: the document cannot be read");
  }
  return toJson(value, { left: VALUES_MAX }, 0);
}

/** The commonest mistakes as users of kubectl know them. */
function inGoWords(reason: string): string {
  if (/end of the stream within a flow/.test(reason)) return "did not find expected node content";
  return reason;
}

function toJson(value: unknown, budget: { left: number }, depth: number): unknown {
  if (--budget.left < 0) throw new YamlError("yaml: document contains excessive aliasing");
  if (depth > JSON_DEPTH_MAX) throw new YamlError("yaml: exceeded max depth");
  if (value instanceof Date) return value.toISOString().replace(/\.000Z$/, "Z");
  if (value instanceof Uint8Array) return Buffer.from(value).toString("base64");
  if (Array.isArray(value)) return value.map((item) => toJson(item, budget, depth + 1));
  if (!isJsonObject(value)) return typeof value === "number" && !Number.isFinite(value) ? String(value) : value;
  return Object.fromEntries(Object.keys(value).map((key) => [key, toJson(value[key], budget, depth + 1)]));
}

/** Keys in order, as every Kubernetes tool writes them. */
function sorted(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(sorted);
  if (!isJsonObject(value)) return value;
  return Object.fromEntries(
    Object.keys(value)
      .sort()
      .map((key) => [key, sorted(value[key])]),
  );
}

export function toYaml(value: unknown): string {
  return dump(sorted(value), { noRefs: true, lineWidth: -1 });
}
