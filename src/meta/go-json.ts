/** Writes JSON as Go's encoding/json does: HTML-safe, and with the keys of maps sorted. */
import { isJsonObject, setMember, type JsonObject } from "./json.ts";

const HTML = /[<>&\u2028\u2029]/g;

/**
 * Escapes the characters that are special in HTML or JavaScript. A plain replacement is enough, because they occur only
 * inside of strings.
 */
export function escapeJsonForHtml(json: string): string {
  return json.search(HTML) < 0 ? json : json.replace(HTML, escaped);
}

function escaped(character: string): string {
  return `\\u${character.charCodeAt(0).toString(16).padStart(4, "0")}`;
}

/** JSON of a struct: its fields in the order of the object. */
export function goJson(value: unknown): string {
  return escapeJsonForHtml(JSON.stringify(value) ?? "null");
}

/** The lines of MarshalIndent with an indent of one space. */
export function goJsonLines(value: unknown): string[] {
  return escapeJsonForHtml(JSON.stringify(value, undefined, 1) ?? "null").split("\n");
}

/** JSON of a map: its keys sorted, at every depth. */
export function sortedGoJson(value: unknown): string {
  if (Array.isArray(value)) return `[${value.map(sortedGoJson).join(",")}]`;
  if (!isJsonObject(value)) return goJson(value);
  const members = Object.keys(value)
    .sort()
    .map((name) => `${goJson(name)}:${sortedGoJson(value[name])}`);
  return `{${members.join(",")}}`;
}

/** A copy with sorted keys, whose values are converted by `shown`. */
export function sortedMap(map: JsonObject, shown: (member: unknown) => unknown = (member) => member): JsonObject {
  const sorted: JsonObject = {};
  for (const key of Object.keys(map).sort()) setMember(sorted, key, shown(map[key]));
  return sorted;
}
