/** Estimates the length of a value as JSON text without encoding it, for limits of size. */
import { isJsonObject } from "../../meta/json.ts";

/**
 * A lower bound of the length, because escaped and non-ASCII characters need more bytes. Stops counting after `limit`.
 */
export function jsonLength(value: unknown, limit: number): number {
  if (typeof value === "string") return value.length + 2;
  let length = 1;
  if (Array.isArray(value)) {
    for (const item of value) {
      length += 1 + jsonLength(item, limit - length);
      if (length > limit) break;
    }
  } else if (isJsonObject(value)) {
    for (const key in value) {
      length += key.length + 4 + jsonLength(value[key], limit - length);
      if (length > limit) break;
    }
  }
  return length;
}
