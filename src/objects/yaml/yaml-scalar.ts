/**
 * Resolves YAML scalars as Kubernetes' YAML library does, which follows neither YAML 1.1 nor 1.2: yes, on and y are
 * booleans, 010 is eight and 08 is eight, times are text, and there are no base-60 numbers.
 */
import { YamlError } from "./yaml-error.ts";

/** Integers are bigints, because as keys they become text and must be exact. */
export type YamlScalar = string | boolean | number | bigint | null;

const TAG_PREFIX = "tag:yaml.org,2002:";
const RESOLVABLE: ReadonlySet<string> = new Set(
  ["str", "bool", "int", "float", "null", "timestamp"].map((name) => TAG_PREFIX + name),
);

const WORDS: ReadonlyMap<string, YamlScalar> = new Map<string, YamlScalar>([
  ...["y", "Y", "yes", "Yes", "YES", "true", "True", "TRUE", "on", "On", "ON"].map((word) => [word, true] as const),
  ...["n", "N", "no", "No", "NO", "false", "False", "FALSE", "off", "Off", "OFF"].map((word) => [word, false] as const),
  ...["", "~", "null", "Null", "NULL"].map((word) => [word, null] as const),
  ...[".nan", ".NaN", ".NAN"].map((word) => [word, Number.NaN] as const),
  ...[".inf", ".Inf", ".INF", "+.inf", "+.Inf", "+.INF"].map((word) => [word, Infinity] as const),
  ...["-.inf", "-.Inf", "-.INF"].map((word) => [word, -Infinity] as const),
]);

/** The value of a scalar; `tag` is "" for a plain scalar without a tag. */
export function resolveScalar(text: string, tag: string): YamlScalar {
  if (tag === `${TAG_PREFIX}binary`) return decodeBinary(text);
  if (tag === `${TAG_PREFIX}str` || (tag !== "" && !RESOLVABLE.has(tag))) return text;
  const value = resolvePlain(text);
  const found = tagOf(value, text);
  if (tag === "" || tag === found) return value;
  if (tag === `${TAG_PREFIX}float` && typeof value === "bigint") return Number(value);
  if (tag === `${TAG_PREFIX}timestamp` && TIMESTAMP.test(text)) return text;
  throw new YamlError(`yaml: cannot decode ${shortTag(found)} \`${text}\` as a ${shortTag(tag)}`);
}

function resolvePlain(text: string): YamlScalar {
  const word = WORDS.get(text);
  if (word !== undefined) return word;
  if (text.startsWith(".")) return FLOAT.test(text) ? finite(text) : text;
  if (!/^[-+0-9]/.test(text)) return text;
  const plain = text.replaceAll("_", "");
  const integer = parseInteger(plain);
  if (integer !== undefined) return integer;
  return FLOAT.test(plain) ? finite(plain, text) : text;
}

const TIMESTAMP = /^\d{4}-\d{1,2}-\d{1,2}([Tt ]\d{1,2}:\d{1,2}:\d{1,2}(\.\d+)?(Z|[-+]\d{2}:\d{2})?)?$/;
const FLOAT = /^[-+]?(\.[0-9]+|[0-9]+(\.[0-9]*)?)([eE][-+]?[0-9]+)?$/;
const INTEGER = /^([-+]?)(0[xX][0-9a-fA-F]+|0[bB][01]+|0[oO]?[0-7]+|0|[1-9][0-9]*)$/;
const INT64_MIN = -(2n ** 63n);
const UINT64_MAX = 2n ** 64n - 1n;
/** Limits the number of digits before the conversion. A 64-bit number has fewer, even in base two. */
const INTEGER_DIGITS_MAX = 70;

function parseInteger(text: string): bigint | undefined {
  const [, sign, digits = ""] = INTEGER.exec(text) ?? [];
  if (sign === undefined || digits.length > INTEGER_DIGITS_MAX) return undefined;
  const isOldOctal = /^0[0-7]/.test(digits);
  const magnitude = BigInt(isOldOctal ? `0o${digits.slice(1)}` : digits.toLowerCase());
  const value = sign === "-" ? -magnitude : magnitude;
  const maximum = sign === "" ? UINT64_MAX : -INT64_MIN - 1n;
  return value >= INT64_MIN && value <= maximum ? value : undefined;
}

/** The number; a number that is too large for a float stays text. */
function finite(plain: string, text = plain): number | string {
  const value = Number(plain);
  return Number.isFinite(value) ? value : text;
}

function tagOf(value: YamlScalar, text: string): string {
  if (value === null) return `${TAG_PREFIX}null`;
  switch (typeof value) {
    case "boolean":
      return `${TAG_PREFIX}bool`;
    case "bigint":
      return `${TAG_PREFIX}int`;
    case "number":
      return `${TAG_PREFIX}float`;
    default:
      return TAG_PREFIX + (TIMESTAMP.test(text) ? "timestamp" : "str");
  }
}

function shortTag(tag: string): string {
  return tag.startsWith(TAG_PREFIX) ? `!!${tag.slice(TAG_PREFIX.length)}` : tag;
}

/** The decoded base64 of a binary value, as text. */
function decodeBinary(text: string): string {
  const base64 = text.replaceAll(/[\r\n]/g, "");
  if (!/^(?:[A-Za-z0-9+/]{4})*(?:[A-Za-z0-9+/]{2}==|[A-Za-z0-9+/]{3}=)?$/.test(base64))
    throw new YamlError("yaml: !!binary value contains invalid base64 data");
  return Buffer.from(base64, "base64").toString("utf8");
}

/** A key as text. Throws for null, which cannot be a key. */
export function yamlKeyText(key: YamlScalar): string {
  if (key === null) throw new YamlError("unsupported map key of type: null");
  return typeof key === "number" ? floatKeyText(key) : String(key);
}

/** A key as Go shows it in a message. */
export function keyInMessage(key: YamlScalar): string {
  return typeof key === "string" ? JSON.stringify(key) : yamlKeyText(key);
}

const FLOAT32_DIGITS_MAX = 9;

/** The shortest text of the nearest 32-bit float, which kubernetes uses for numeric keys. */
function floatKeyText(value: number): string {
  if (Number.isNaN(value)) return ".nan";
  const single = Math.fround(value);
  if (!Number.isFinite(single)) return single > 0 ? ".inf" : "-.inf";
  let digits = 1;
  while (digits < FLOAT32_DIGITS_MAX && Math.fround(Number(single.toExponential(digits - 1))) !== single) digits++;
  const [mantissa = "", exponent = "0"] = single.toExponential(digits - 1).split("e");
  const power = Number(exponent);
  if (power >= -4 && power < 6) return plainDecimal(Number(`${mantissa}e${power}`), digits - 1 - power);
  return `${mantissa}e${power < 0 ? "-" : "+"}${String(Math.abs(power)).padStart(2, "0")}`;
}

function plainDecimal(value: number, decimals: number): string {
  return value.toFixed(Math.max(0, decimals));
}
