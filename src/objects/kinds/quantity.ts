/** Quantities as numbers: canonical texts are objects/table/quantity.ts' matter. */
import { canonicalQuantity } from "../table/quantity.ts";

const QUANTITY = /^([+-]?)(\d{0,30})(?:\.(\d{0,30}))?(?:(Ki|Mi|Gi|Ti|Pi|Ei|[numkMGTPE])|[eE]([+-]?\d{1,2}))?$/;
const DECIMAL_EXPONENTS: Readonly<Record<string, number>> = {
  n: -9,
  u: -6,
  m: -3,
  k: 3,
  M: 6,
  G: 9,
  T: 12,
  P: 15,
  E: 18,
};
const BINARY_PREFIXES = "KMGTPE";
const NANO_EXPONENT = 9;

/** Billionths, rounded towards zero; what is no quantity counts as nothing. */
export function nanosOf(value: unknown): bigint {
  const match = QUANTITY.exec(String(value ?? ""));
  if (match === null) return 0n;
  const [, sign, whole = "", fraction = "", suffix = "", exponent = "0"] = match;
  const isBinary = suffix.endsWith("i");
  const digits =
    BigInt(`0${whole}${fraction}`) * (isBinary ? 1024n ** BigInt(BINARY_PREFIXES.indexOf(suffix[0]!) + 1) : 1n);
  const shift = NANO_EXPONENT - fraction.length + Number(exponent) + (isBinary ? 0 : (DECIMAL_EXPONENTS[suffix] ?? 0));
  const magnitude = shift >= 0 ? digits * 10n ** BigInt(shift) : digits / 10n ** BigInt(-shift);
  return sign === "-" ? -magnitude : magnitude;
}

const NANOS_PER_UNIT = 1_000_000_000n;
const NANOS_PER_MILLI = 1_000_000n;
const BYTES_PER_KI = 1024n;

export function isBinaryQuantity(text: string): boolean {
  return text.endsWith("i");
}

/** The canonical text of an amount. */
export function quantityOf(nanos: bigint, isBinary: boolean): string {
  const units = nanos / NANOS_PER_UNIT;
  if (units * NANOS_PER_UNIT !== nanos) return canonicalQuantity(`${nanos}n`);
  if (isBinary && units % BYTES_PER_KI === 0n) return canonicalQuantity(`${units / BYTES_PER_KI}Ki`);
  return canonicalQuantity(`${units}`);
}

const MILLIS_MAX = 2n ** 63n - 1n;
const MILLIS_PER_UNIT = 1000n;

/** As kubernetes asks: in thousandths, of which there are only so many, so that a very large amount is no whole one. */
export function isWholeAmount(value: unknown): boolean {
  const nanos = nanosOf(value);
  if (nanos % NANOS_PER_MILLI !== 0n) return false;
  const millis = nanos / NANOS_PER_MILLI;
  return (millis > MILLIS_MAX ? MILLIS_MAX : millis) % MILLIS_PER_UNIT === 0n;
}

/** As lists of resources are kept: nothing smaller than a thousandth, and the canonical text. */
export function roundedUpToMilli(text: string): string {
  const canonical = canonicalQuantity(text);
  const nanos = nanosOf(canonical);
  const beyond = nanos % NANOS_PER_MILLI;
  if (beyond === 0n) return canonical;
  return canonicalQuantity(`${nanos / NANOS_PER_MILLI + (beyond > 0n ? 1n : 0n)}m`);
}
