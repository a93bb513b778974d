/**
 * Writes JSON values as Go's fmt, reflect and encoding/json do in error messages. Go decodes a whole number as int64 if
 * it fits, and every other number as float64.
 */
import { isJsonObject } from "./json.ts";

const INT64_LIMIT = 2 ** 63;

export function isInt64(value: unknown): value is number {
  return typeof value === "number" && Number.isInteger(value) && value >= -INT64_LIMIT && value < INT64_LIMIT;
}

/** Outside of these exponents, `%v` uses exponent notation. */
const EXPONENT_MIN = -4;
const EXPONENT_MAX = 6;

/** `%v` of a float64: the shortest text that reads back as the same number. */
export function goFloat(value: number): string {
  if (Number.isNaN(value)) return "NaN";
  if (!Number.isFinite(value)) return value > 0 ? "+Inf" : "-Inf";
  if (value === 0) return Object.is(value, -0) ? "-0" : "0";
  const [mantissa = "", digits = "0"] = value.toExponential().split("e");
  const exponent = Number(digits);
  if (exponent >= EXPONENT_MIN && exponent < EXPONENT_MAX) return String(value);
  return `${mantissa}e${exponent < 0 ? "-" : "+"}${String(Math.abs(exponent)).padStart(2, "0")}`;
}

/** `%v` of an int64 or a float64. */
export function goNumber(value: number): string {
  return isInt64(value) ? String(BigInt(value)) : goFloat(value);
}

export interface TextOptions {
  /** Formats a number. Overridden for server-side apply, which decodes every number as a float64. */
  readonly number?: (value: number) => string;
  /** DIFFERS: longer texts are truncated; kube-apiserver repeats the whole value, which may be megabytes. */
  readonly charactersMax?: number;
}

/** `%v` of a value: `map[a:1 b:[x <nil>]]`. */
export function goValueText(value: unknown, options: TextOptions = {}): string {
  const { number = goNumber, charactersMax = Infinity } = options;
  let text = "";
  const print = (current: unknown): void => {
    if (text.length > charactersMax) return;
    if (Array.isArray(current)) {
      text += "[";
      for (const [index, item] of current.entries()) {
        if (index > 0) text += " ";
        print(item);
        if (text.length > charactersMax) return;
      }
      text += "]";
    } else if (isJsonObject(current)) {
      text += "map[";
      for (const [index, key] of Object.keys(current).sort().entries()) {
        text += `${index > 0 ? " " : ""}${key}:`;
        print(current[key]);
        if (text.length > charactersMax) return;
      }
      text += "]";
    } else if (current === null || current === undefined) text += "<nil>";
    else text += typeof current === "number" ? number(current) : String(current);
  };
  print(value);
  return text.length > charactersMax ? `${text.slice(0, charactersMax)}...` : text;
}

/** `%s` of a value that should have been a string. */
export function goStringText(value: unknown, options: TextOptions = {}): string {
  if (value === null) return "%!s(<nil>)";
  if (typeof value === "number" || typeof value === "boolean")
    return `%!s(${goType(value)}=${goValueText(value, options)})`;
  return goValueText(value, options);
}

/** `%T` of a value: the name of its Go type. */
export function goType(value: unknown): string {
  if (value === null || value === undefined) return "<nil>";
  if (Array.isArray(value)) return "[]interface {}";
  switch (typeof value) {
    case "number":
      return isInt64(value) ? "int64" : "float64";
    case "bigint":
      return "int64";
    case "boolean":
      return "bool";
    case "string":
      return "string";
    default:
      return "map[string]interface {}";
  }
}

/**
 * The name of a value's type in errors of Go's JSON decoder, which shows a number only if the target type is numeric.
 */
export function jsonKind(value: unknown, showsNumber = false): string {
  if (value === null) return "null";
  if (Array.isArray(value)) return "array";
  if (typeof value === "number" && showsNumber) return `number ${value}`;
  return typeof value === "boolean" ? "bool" : typeof value;
}

/** `target` is `value of type T` or `struct field S.f of type T`. */
export function unmarshalError(value: unknown, target: string, showsNumber = false): string {
  return `json: cannot unmarshal ${jsonKind(value, showsNumber)} into Go ${target}`;
}
