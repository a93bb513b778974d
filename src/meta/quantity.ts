/**
 * Kubernetes quantities (`500m`, `1Gi`, `2e3`): parsing, canonical text and values in billionths.
 *
 * Decoding, defaulting, validation, tables, admission and CEL all use this module, so that they agree on the value of a
 * quantity.
 */

/** The notation of a quantity. */
export type QuantityFormat = "decimal" | "exponent" | "binary";

interface Scale {
  /** The value is digits × 10^exponent × 2^twos. */
  readonly exponent: number;
  readonly twos: number;
  readonly format: QuantityFormat;
}

interface Quantity extends Scale {
  readonly isNegative: boolean;
  readonly digits: bigint;
}

const DECIMAL_SUFFIXES: readonly (readonly [suffix: string, exponent: number])[] = [
  ["n", -9],
  ["u", -6],
  ["m", -3],
  ["", 0],
  ["k", 3],
  ["M", 6],
  ["G", 9],
  ["T", 12],
  ["P", 15],
  ["E", 18],
];
const BINARY_SUFFIXES: readonly string[] = ["", "Ki", "Mi", "Gi", "Ti", "Pi", "Ei"];
const SCALES: ReadonlyMap<string, Scale> = new Map<string, Scale>([
  ...DECIMAL_SUFFIXES.map(([suffix, exponent]) => [suffix, { exponent, twos: 0, format: "decimal" }] as const),
  ...BINARY_SUFFIXES.slice(1).map(
    (suffix, index) => [suffix, { exponent: 0, twos: (index + 1) * 10, format: "binary" }] as const,
  ),
]);

const QUANTITY = /^([+-]?)([0-9]*)(?:\.([0-9]*))?([eEinumkKMGTP]*[-+]?[0-9]*)$/;
const EXPONENT = /^[eE]([+-]?[0-9]+)$/;
const FORMAT_PROBLEM = "quantities must match the regular expression '^([+-]?[0-9.]+)([eEinumkKMGTP]*[-+]?[0-9]*)$'";
const SUFFIX_PROBLEM = "unable to parse quantity's suffix";

/** Matches the most common canonical texts, which need no calculation: whole numbers below 1,000 with a usual suffix. */
const SHORT = /^[1-9][0-9]{0,2}(?:[KMGT]i|[mkMGT])?$/;

/** Longer texts and larger exponents are rejected: they have no use, and arithmetic with them would be slow. */
const LENGTH_MAX = 1000;
const EXPONENT_MAX = 100;
/** Longer texts are not converted to canonical form. */
const CANONICAL_LENGTH_MAX = 64;
const SMALLEST_EXPONENT = -9;
const INT64_MAX = 2n ** 63n - 1n;
const BINARY_BASE = 1024n;
export const NANOS_PER_UNIT = 1_000_000_000n;
const NANOS_PER_MILLI = 1_000_000n;
const MILLIS_PER_UNIT = 1000n;

/** The quantity, or Go's error message for a text that is not a quantity. */
export function parseQuantity(text: string): Quantity | string {
  const match = matchOf(text);
  if (match === null) return FORMAT_PROBLEM;
  const [, sign, whole = "", fraction = "", suffix = ""] = match;
  const scale = SCALES.get(suffix) ?? exponentScale(suffix);
  if (scale === undefined) return SUFFIX_PROBLEM;
  return {
    isNegative: sign === "-",
    digits: BigInt(whole + fraction),
    exponent: scale.exponent - fraction.length,
    twos: scale.twos,
    format: scale.format,
  };
}

/** Go's error message for a text that is not a quantity. Accepts exponents that are too large for `parseQuantity`. */
export function quantityError(text: string): string | undefined {
  if (SHORT.test(text)) return undefined;
  const suffix = matchOf(text)?.[4];
  if (suffix === undefined) return FORMAT_PROBLEM;
  return SCALES.has(suffix) || EXPONENT.test(suffix) ? undefined : SUFFIX_PROBLEM;
}

function matchOf(text: string): RegExpExecArray | null {
  return text.length > LENGTH_MAX || text === "" ? null : QUANTITY.exec(text);
}

function exponentScale(suffix: string): Scale | undefined {
  const exponent = Number(EXPONENT.exec(suffix)?.[1] ?? Number.NaN);
  return Math.abs(exponent) <= EXPONENT_MAX ? { exponent, twos: 0, format: "exponent" } : undefined;
}

/** The value in billionths, rounded away from zero. */
export function nanosOfQuantity({ isNegative, digits, exponent, twos }: Quantity): bigint {
  const scaled = digits << BigInt(twos);
  const shift = exponent - SMALLEST_EXPONENT;
  const magnitude = shift >= 0 ? scaled * 10n ** BigInt(shift) : ceilDivide(scaled, 10n ** BigInt(-shift));
  return isNegative ? -magnitude : magnitude;
}

/** The value in billionths, rounded away from zero; 0 for a value that is not a quantity. */
export function nanosOf(value: unknown): bigint {
  const quantity = parseQuantity(String(value ?? ""));
  return typeof quantity === "string" ? 0n : nanosOfQuantity(quantity);
}

/** The value in thousandths, rounded away from zero. */
export function millisOf(nanos: bigint): bigint {
  return ceilDivide(nanos, NANOS_PER_MILLI);
}

/** The value in whole units, rounded away from zero. */
export function unitsOf(nanos: bigint): bigint {
  return ceilDivide(nanos, NANOS_PER_UNIT);
}

function ceilDivide(value: bigint, by: bigint): bigint {
  const whole = value / by;
  if (whole * by === value) return whole;
  return value < 0n ? whole - 1n : whole + 1n;
}

/** As kubernetes, which computes in 64-bit thousandths: an amount beyond their range is not whole. */
export function isWholeAmount(value: unknown): boolean {
  if (typeof value === "string" && !value.endsWith("m") && SHORT.test(value)) return true;
  const nanos = nanosOf(value);
  if (nanos % NANOS_PER_MILLI !== 0n) return false;
  const millis = nanos / NANOS_PER_MILLI;
  return (millis > INT64_MAX ? INT64_MAX : millis) % MILLIS_PER_UNIT === 0n;
}

export function formatOf(text: string): QuantityFormat {
  if (text.endsWith("i")) return "binary";
  return /[eE][+-]?[0-9]/.test(text) ? "exponent" : "decimal";
}

/** The text that API servers write: `1024Mi` is `1Gi`, `1000m` is `1`, `1.5Gi` is `1536Mi`. */
export function canonicalQuantity(text: string): string {
  if (SHORT.test(text)) return text;
  const quantity = text.length > CANONICAL_LENGTH_MAX ? FORMAT_PROBLEM : parseQuantity(text);
  if (typeof quantity === "string") return text;
  if (quantity.digits === 0n && !/^[+-]?\.?[0-9]/.test(text)) return text;
  if (isKeptAsWritten(text, quantity)) return text;
  const magnitude = magnitudeText(quantity, INT64_MAX);
  if (magnitude === undefined) return text;
  return quantity.isNegative && magnitude !== "0" ? `-${magnitude}` : magnitude;
}

/** The canonical text in the given notation. */
export function quantityText(nanos: bigint, format: QuantityFormat): string {
  const isNegative = nanos < 0n;
  const digits = isNegative ? -nanos : nanos;
  const magnitude = magnitudeText({ isNegative, digits, exponent: SMALLEST_EXPONENT, twos: 0, format });
  return `${isNegative ? "-" : ""}${magnitude ?? `${digits}n`}`;
}

/** Rounds up to thousandths, as API servers do in resource lists. */
export function roundedUpToMilli(text: string): string {
  if (SHORT.test(text)) return text;
  const canonical = canonicalQuantity(text);
  const nanos = nanosOf(canonical);
  const beyond = nanos % NANOS_PER_MILLI;
  if (beyond === 0n) return canonical;
  return canonicalQuantity(`${nanos / NANOS_PER_MILLI + (beyond > 0n ? 1n : 0n)}m`);
}

/** As kubernetes: a quick check decides whether a text is rewritten. It misses some texts: `1.500` stays. */
function isKeptAsWritten(text: string, { digits, exponent, format }: Quantity): boolean {
  const number = /^[+-]?0*([0-9]*)(?:\.([0-9]*))?/.exec(text);
  const fraction = number?.[2] ?? "";
  if (format === "binary") return fraction === "" && (digits & 7n) !== 0n;
  const shown = (number?.[1] === "" ? "0" : (number?.[1] ?? "0")) + fraction;
  const isShort = shown.length <= 18 && exponent >= SMALLEST_EXPONENT;
  return isShort && exponent % 3 === 0 && !shown.endsWith("000") && !shown.startsWith("0");
}

/** Binary quantities above `binaryMax` are reduced to it. It is set for texts of clients, not for computed sums. */
function magnitudeText(quantity: Quantity, binaryMax?: bigint): string | undefined {
  if (quantity.format !== "binary") return decimalText(quantity, quantity.format);
  const divisor = 10n ** BigInt(-quantity.exponent);
  const scaled = quantity.digits << BigInt(quantity.twos);
  const isWhole = scaled % divisor === 0n;
  const whole = scaled / divisor;
  // Uses powers of ten for a fraction, which would have to be rounded, and for a number that is too small for a binary
  // suffix.
  if (!isWhole || whole < BINARY_BASE) return decimalText({ ...quantity, digits: scaled, twos: 0 }, "decimal");
  let rest = binaryMax !== undefined && whole > binaryMax ? binaryMax : whole;
  let power = 0;
  for (; rest % BINARY_BASE === 0n && power < BINARY_SUFFIXES.length - 1; power++) rest /= BINARY_BASE;
  return `${rest}${BINARY_SUFFIXES[power]!}`;
}

function decimalText(quantity: Quantity, format: "decimal" | "exponent"): string | undefined {
  let { digits, exponent } = quantity;
  if (digits === 0n) return "0";
  if (exponent < SMALLEST_EXPONENT) {
    digits = ceilDivide(digits, 10n ** BigInt(SMALLEST_EXPONENT - exponent));
    exponent = SMALLEST_EXPONENT;
  }
  while (digits % 10n === 0n) {
    digits /= 10n;
    exponent++;
  }
  while (exponent % 3 !== 0) {
    digits *= 10n;
    exponent--;
  }
  if (format === "exponent") return exponent === 0 ? `${digits}` : `${digits}e${exponent}`;
  const suffix = DECIMAL_SUFFIXES.find(([, power]) => power === exponent)?.[0];
  return suffix === undefined ? undefined : `${digits}${suffix}`;
}
