/** The CEL functions on strings. Positions count code points. */
import { ArrayList, CostLimitExceeded, EvalError, type ListValue, type Value } from "../values/value.ts";
import { overload, type Overload } from "./function.ts";
import { formatString } from "./string-format.ts";

/**
 * Bounds the length of a result, because a short call can produce a very long string. DIFFERS: kubernetes has no such
 * bound.
 */
const RESULT_LENGTH_MAX = 16 * 1024 * 1024;

export const STRING_TESTS: readonly Overload[] = [
  overload("contains_string", "string.contains(string): bool", (text: string, part: string) => text.includes(part)),
  overload("ends_with_string", "string.endsWith(string): bool", (text: string, part: string) => text.endsWith(part)),
  overload("starts_with_string", "string.startsWith(string): bool", (text: string, part: string) =>
    text.startsWith(part),
  ),
];

function outOfRange(index: bigint): EvalError {
  return new EvalError(`index out of range: ${index}`);
}

function charAt(text: string, index: bigint): Value {
  const characters = [...text];
  if (index < 0n || index > characters.length) return outOfRange(index);
  return characters[Number(index)] ?? "";
}

/** The number of code points before a UTF-16 position. */
function pointsBefore(text: string, position: number): bigint {
  return BigInt([...text.slice(0, position)].length);
}

function indexOf(text: string, part: string, offset = 0n): Value {
  if (part === "") return offset;
  if (offset < 0n) return outOfRange(offset);
  const characters = [...text];
  if (offset >= characters.length) return -1n;
  const skipped = characters.slice(0, Number(offset)).join("");
  const found = text.indexOf(part, skipped.length);
  return found < 0 ? -1n : pointsBefore(text, found);
}

function lastIndexOf(text: string, part: string, offset?: bigint): Value {
  const characters = [...text];
  if (part === "") return offset ?? BigInt(characters.length);
  const last = offset ?? BigInt(characters.length - 1);
  if (last < 0n) return offset === undefined ? -1n : outOfRange(last);
  if (last >= characters.length) return -1n;
  const found = text.lastIndexOf(part, characters.slice(0, Number(last)).join("").length);
  return found < 0 ? -1n : pointsBefore(text, found);
}

/**
 * The result of replacing the empty string: `by` is inserted before, between and after all characters, at most `max`
 * times.
 */
function interspersed(text: string, by: string, max: number): string {
  const characters = [...text];
  let result = max > 0 ? by : "";
  for (const [index, character] of characters.entries()) result += character + (index + 1 < max ? by : "");
  return result;
}

function replace(text: string, from: string, to: string, max = -1n): Value {
  const count = max < 0n ? Number.POSITIVE_INFINITY : Number(max);
  const possible = from === "" ? text.length + 1 : Math.ceil(text.length / from.length);
  if (text.length + Math.min(count, possible) * to.length > RESULT_LENGTH_MAX) throw new CostLimitExceeded();
  if (from === "") return interspersed(text, to, count);
  const parts = text.split(from);
  if (parts.length - 1 <= count) return parts.join(to);
  return [parts.slice(0, count + 1).join(to), ...parts.slice(count + 1)].join(from);
}

function split(text: string, separator: string, max = -1n): Value {
  if (max === 0n) return new ArrayList([]);
  const parts = separator === "" ? [...text] : text.split(separator);
  if (max < 0n || parts.length <= max) return new ArrayList(parts);
  const kept = Number(max) - 1;
  return new ArrayList([...parts.slice(0, kept), parts.slice(kept).join(separator)]);
}

function substring(text: string, start: bigint, end?: bigint): Value {
  const characters = [...text];
  if (end !== undefined && start > end) return new EvalError(`invalid substring range. start: ${start}, end: ${end}`);
  if (start < 0n || start > characters.length) return outOfRange(start);
  if (end !== undefined && end > characters.length) return outOfRange(end);
  return characters.slice(Number(start), end === undefined ? undefined : Number(end)).join("");
}

/** Go's definition of white space. */
const SPACES = "[\\t\\n\\v\\f\\r \\u0085\\u00a0\\u1680\\u2000-\\u200a\\u2028\\u2029\\u202f\\u205f\\u3000]";
const LEADING = new RegExp(`^${SPACES}+`);

function trim(text: string): string {
  let end = text.length;
  const space = new RegExp(SPACES);
  while (end > 0 && space.test(text[end - 1] ?? "")) end--;
  return text.slice(0, end).replace(LEADING, "");
}

function join(list: ListValue, separator = ""): Value {
  const parts: string[] = [];
  let length = 0;
  for (const element of list.elements()) {
    if (typeof element !== "string") return new EvalError("no such overload");
    parts.push(element);
    length += element.length + separator.length;
    if (length > RESULT_LENGTH_MAX) throw new CostLimitExceeded();
  }
  return parts.join(separator);
}

const QUOTED: ReadonlyMap<string, string> = new Map([
  ["\u0007", String.raw`\a`],
  ["\b", String.raw`\b`],
  ["\f", String.raw`\f`],
  ["\n", String.raw`\n`],
  ["\r", String.raw`\r`],
  ["\t", String.raw`\t`],
  ["\v", String.raw`\v`],
  ["\\", String.raw`\\`],
  ['"', String.raw`\"`],
]);

function quote(text: string): string {
  // oxlint-disable-next-line no-control-regex -- control characters are escaped
  const escaped = text.toWellFormed().replaceAll(/[\u0007-\r\\"]/g, (character) => QUOTED.get(character) ?? character);
  return `"${escaped}"`;
}

function lowerAscii(text: string): string {
  return text.replaceAll(/[A-Z]+/g, (part) => part.toLowerCase());
}

function upperAscii(text: string): string {
  return text.replaceAll(/[a-z]+/g, (part) => part.toUpperCase());
}

export const STRINGS: readonly Overload[] = [
  overload("string_char_at_int", "string.charAt(int): string", charAt),
  overload("string_index_of_string", "string.indexOf(string): int", indexOf),
  overload("string_index_of_string_int", "string.indexOf(string, int): int", indexOf),
  overload("string_last_index_of_string", "string.lastIndexOf(string): int", lastIndexOf),
  overload("string_last_index_of_string_int", "string.lastIndexOf(string, int): int", lastIndexOf),
  overload("string_lower_ascii", "string.lowerAscii(): string", lowerAscii),
  overload("string_replace_string_string", "string.replace(string, string): string", replace),
  overload("string_replace_string_string_int", "string.replace(string, string, int): string", replace),
  overload("string_split_string", "string.split(string): list<string>", split),
  overload("string_split_string_int", "string.split(string, int): list<string>", split),
  overload("string_substring_int", "string.substring(int): string", substring),
  overload("string_substring_int_int", "string.substring(int, int): string", substring),
  overload("string_trim", "string.trim(): string", trim),
  overload("string_upper_ascii", "string.upperAscii(): string", upperAscii),
  overload("string_format", "string.format(list<dyn>): string", formatString),
  overload("strings_quote", ":strings.quote(string): string", quote),
  overload("list_join", "list<string>.join(): string", join),
  overload("list_join_string", "list<string>.join(string): string", join),
];
