/** Values as Go shows them in messages. */
import { goQuote } from "../../../../meta/go-quote.ts";
import { isJsonObject } from "../../../../meta/json.ts";

const INT64_LIMIT = 2 ** 63;

/** Go reads a whole number as int64 as long as it fits, everything else as float64. */
export function isGoInteger(value: number): boolean {
  return Number.isInteger(value) && value >= -INT64_LIMIT && value < INT64_LIMIT;
}

/** In a field's error: strings in quotes, numbers plain, everything else as JSON. */
export function shownValue(value: unknown): string {
  if (typeof value === "string") return goQuote(value);
  if (typeof value === "number") return isGoInteger(value) ? String(BigInt(value)) : goFloat(value);
  return goJson(value);
}

/** As %v writes a float64: with an exponent from a million on. */
export function goFloat(value: number): string {
  const [digits = "", exponentText = "0"] = value.toExponential().split("e");
  const exponent = Number(exponentText);
  if (exponent >= -4 && exponent < 6) return String(value);
  return `${digits}e${exponent < 0 ? "-" : "+"}${String(Math.abs(exponent)).padStart(2, "0")}`;
}

/** As Go's encoder: members in the order of the alphabet, and nothing that HTML could misread. */
export function goJson(value: unknown): string {
  if (typeof value === "string") return goJsonString(value);
  if (Array.isArray(value)) return `[${value.map(goJson).join(",")}]`;
  if (!isJsonObject(value)) return JSON.stringify(value) ?? "null";
  const members = Object.keys(value)
    .toSorted()
    .map((name) => `${goJsonString(name)}:${goJson(value[name])}`);
  return `{${members.join(",")}}`;
}

const ESCAPED = /[<>&\u2028\u2029]/g;

function goJsonString(text: string): string {
  return JSON.stringify(text).replace(
    ESCAPED,
    (character) => `\\u${character.charCodeAt(0).toString(16).padStart(4, "0")}`,
  );
}
