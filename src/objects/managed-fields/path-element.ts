/**
 * Parses, writes and compares the steps of a field path. In field sets a step is its fieldsV1 key, such as `f:spec` or
 * `k:{"name":"c"}`. Keys are canonical, so that equal steps are equal strings.
 */
import { isJsonObject, type JsonObject } from "../../meta/json.ts";
import { goJson } from "../../meta/go-json.ts";

export type PathElement =
  | { readonly kind: "field"; readonly name: string }
  /** An item of an associative list, identified by its key fields. */
  | { readonly kind: "key"; readonly fields: JsonObject }
  /** An item of a list of type set, identified by its value. */
  | { readonly kind: "value"; readonly value: unknown }
  | { readonly kind: "index"; readonly index: number };

export type FieldPath = readonly PathElement[];

/** The fieldsV1 text is invalid, or the object has list items without the keys that identify them. */
export class FieldSetError extends Error {
  override readonly name = "FieldSetError";
}

const SEPARATOR = 0x3a;
const BACKSLASH = 0x5c;

export function fieldKey(name: string): string {
  return `f:${name}`;
}

export function elementKey(element: PathElement): string {
  switch (element.kind) {
    case "field":
      return fieldKey(element.name);
    case "key":
      return `k:${canonicalJson(element.fields)}`;
    case "value":
      return `v:${canonicalJson(element.value)}`;
    case "index":
      return `i:${element.index}`;
  }
}

/** Undefined for an unknown kind of step, which callers drop instead of rejecting it. */
export function parseElementKey(key: string): PathElement | undefined {
  if (key.length < 2) throw new FieldSetError("key must be 2 characters long");
  if (key.charCodeAt(1) !== SEPARATOR) throw new FieldSetError(`missing colon: ${excerpt(key)}`);
  const text = key.slice(2);
  switch (key[0]) {
    case "f":
      return { kind: "field", name: text };
    case "k": {
      const fields = parseJson(text);
      if (!isJsonObject(fields)) throw new FieldSetError(`a list item's key must be an object: ${excerpt(text)}`);
      return { kind: "key", fields };
    }
    case "v":
      return { kind: "value", value: parseJson(text) };
    case "i":
      if (!/^[+-]?[0-9]{1,15}$/.test(text)) throw new FieldSetError(`a list index must be a number: ${excerpt(text)}`);
      return { kind: "index", index: Number(text) };
    default:
      return undefined;
  }
}

/** Matches nearly all keys: one plain string, or one key field with a plain string or a small number. */
const PLAIN = /^(?:v:|k:\{"[A-Za-z]{1,64}":)(?:"[^"\\<>&\u2028\u2029\p{Cc}\p{Cs}]*"|0|[1-9][0-9]{0,14})\}?$/u;

/** The canonical form of a key that a client sent; undefined for an unknown kind of step. */
export function canonicalKey(key: string): string | undefined {
  if (key.startsWith("f:")) return key;
  if (PLAIN.test(key) && key.startsWith("k") === key.endsWith("}")) return key;
  const element = parseElementKey(key);
  return element && elementKey(element);
}

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text) as unknown;
  } catch (error) {
    throw new FieldSetError(`not JSON: ${excerpt(text)}`, { cause: error });
  }
}

function excerpt(text: string): string {
  return JSON.stringify(text.length > 80 ? `${text.slice(0, 80)}…` : text);
}

/** A path as messages show it: `.spec.containers[name="c"].image`. */
export function pathText(path: FieldPath): string {
  return path.map(elementText).join("");
}

function elementText(element: PathElement): string {
  switch (element.kind) {
    case "field":
      return `.${element.name}`;
    case "key": {
      const { fields } = element;
      const names = Object.keys(fields).sort();
      return `[${names.map((name) => `${name}=${JSON.stringify(fields[name])}`).join(",")}]`;
    }
    case "value":
      return `[=${JSON.stringify(element.value)}]`;
    case "index":
      return `[${element.index}]`;
  }
}

/**
 * Limits the nesting of keys and set items, which are scalars in every real schema. Their JSON is inside a string,
 * which the depth check of the body does not cover, and this code is recursive.
 */
const VALUE_DEPTH_MAX = 16;

/** JSON with sorted fields and Go's HTML escapes, because these texts are compared and shown as Go writes them. */
function canonicalJson(value: unknown, depth = 0): string {
  if (typeof value === "string") return goJson(value);
  if (typeof value !== "object" || value === null) return JSON.stringify(value) ?? "null";
  if (depth >= VALUE_DEPTH_MAX)
    throw new FieldSetError(`a list item's key or value nests deeper than ${VALUE_DEPTH_MAX}`);
  if (Array.isArray(value)) return `[${value.map((item) => canonicalJson(item, depth + 1)).join(",")}]`;
  const object = value as JsonObject;
  let text = "";
  for (const name of Object.keys(object).sort()) {
    text += `${text === "" ? "" : ","}${JSON.stringify(name)}:${canonicalJson(object[name], depth + 1)}`;
  }
  return `{${text}}`;
}

const KIND_ORDER: readonly string[] = ["f", "k", "v", "i"];

/**
 * The order of steps in fieldsV1: fields, keys, values, indexes. Keys and values are compared as decoded values: 80
 * precedes 443.
 */
export function compareElementKeys(left: string, right: string): number {
  if (left === right) return 0;
  const kind = left[0] ?? "";
  if (kind !== right[0]) return KIND_ORDER.indexOf(kind) - KIND_ORDER.indexOf(right[0] ?? "");
  if (kind === "f" || differInLetters(left, right)) return left < right ? -1 : 1;
  return compareJson(JSON.parse(left.slice(2)), JSON.parse(right.slice(2)));
}

/** If two keys first differ in letters, the order of their texts is the order of their decoded values. */
function differInLetters(left: string, right: string): boolean {
  let at = 2;
  while (at < left.length && left.charCodeAt(at) === right.charCodeAt(at)) at++;
  return isLetter(left.charCodeAt(at)) && isLetter(right.charCodeAt(at)) && left.charCodeAt(at - 1) !== BACKSLASH;
}

function isLetter(code: number): boolean {
  return (code >= 0x61 && code <= 0x7a) || (code >= 0x41 && code <= 0x5a);
}

const TYPE_ORDER: readonly string[] = ["number", "string", "boolean", "array", "object", "null"];

function jsonType(value: unknown): string {
  if (value === null) return "null";
  return Array.isArray(value) ? "array" : typeof value;
}

function compareJson(left: unknown, right: unknown): number {
  const type = jsonType(left);
  const byType = TYPE_ORDER.indexOf(type) - TYPE_ORDER.indexOf(jsonType(right));
  if (byType !== 0) return byType;
  if (typeof left === "number" && typeof right === "number") return left - right;
  if (typeof left === "string" && typeof right === "string") return compareText(left, right);
  if (typeof left === "boolean") return Number(left) - Number(right);
  if (Array.isArray(left) && Array.isArray(right)) return compareLists(left, right);
  return isJsonObject(left) && isJsonObject(right) ? compareLists(members(left), members(right)) : 0;
}

function compareText(left: string, right: string): number {
  if (left === right) return 0;
  return left < right ? -1 : 1;
}

function compareLists(left: readonly unknown[], right: readonly unknown[]): number {
  const shorter = Math.min(left.length, right.length);
  for (let index = 0; index < shorter; index++) {
    const order = compareJson(left[index], right[index]);
    if (order !== 0) return order;
  }
  return left.length - right.length;
}

function members(object: JsonObject): unknown[] {
  return Object.keys(object)
    .sort()
    .flatMap((name) => [name, object[name]]);
}
