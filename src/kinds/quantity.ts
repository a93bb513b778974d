/** Quantities as numbers: canonical texts are object/table/quantity.ts' matter. */
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
