/** Parses and formats numbers as Go does. */

const DOUBLE = /^[-+]?(?:\d+\.?\d*|\.\d+)(?:[eE][-+]?\d+)?$/;
const SPECIAL = /^([-+]?)(inf|infinity|nan)$/i;

/** Undefined if the text is not a number. */
export function parseDouble(text: string): number | undefined {
  const special = SPECIAL.exec(text);
  if (special !== null) {
    if (special[2]?.toLowerCase() === "nan") return special[1] === "" ? Number.NaN : undefined;
    return special[1] === "-" ? Number.NEGATIVE_INFINITY : Number.POSITIVE_INFINITY;
  }
  if (!DOUBLE.test(text)) return undefined;
  const value = Number(text);
  return Number.isFinite(value) ? value : undefined;
}

const DIGITS_MAX = 400;

export function parseInteger(text: string): bigint | undefined {
  return /^[-+]?\d+$/.test(text) && text.length <= DIGITS_MAX ? BigInt(text.replace(/^\+/, "")) : undefined;
}
