/** Parses the JSON of tokens strictly: it must be a UTF-8 object without duplicate keys and without deep nesting. */
import { isJsonObject, type JsonObject } from "../../../meta/json.ts";

const DEPTH_MAX = 32;

const QUOTE = 0x22;
const BACKSLASH = 0x5c;
const COLON = 0x3a;

/** Undefined if the bytes do not meet these conditions. */
export function parseTokenJson(bytes: Buffer): JsonObject | undefined {
  const shape = measure(bytes);
  if (shape.depth > DEPTH_MAX) return undefined;
  try {
    const value: unknown = JSON.parse(new TextDecoder("utf-8", { fatal: true, ignoreBOM: true }).decode(bytes));
    return isJsonObject(value) && countMembers(value) === shape.members ? value : undefined;
  } catch {
    return undefined;
  }
}

/** Counts the nesting depth and the number of keys in the text of valid JSON. */
function measure(bytes: Buffer): { readonly depth: number; readonly members: number } {
  let depth = 0;
  let deepest = 0;
  let members = 0;
  let isInString = false;
  for (let at = 0; at < bytes.length; at++) {
    const byte = bytes[at]!;
    if (isInString && byte === BACKSLASH) at++;
    else if (byte === QUOTE) isInString = !isInString;
    else if (!isInString) {
      if (byte === COLON) members++;
      // [ and { differ only in this bit, as do ] and }.
      const bracket = byte & ~0x20;
      if (bracket === 0x5b) deepest = Math.max(deepest, ++depth);
      else if (bracket === 0x5d) depth--;
    }
  }
  return { depth: deepest, members };
}

function countMembers(value: unknown): number {
  let count = 0;
  if (Array.isArray(value)) for (const item of value) count += countMembers(item);
  else if (isJsonObject(value)) for (const key of Object.keys(value)) count += 1 + countMembers(value[key]);
  return count;
}
