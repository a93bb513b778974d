/** Numbers as text, as Go reads and writes them. */

/** From here on %g writes an exponent. */
const EXPONENT_MAX = 6;

function exponentText(exponent: number): string {
  return `${exponent < 0 ? "-" : "+"}${String(Math.abs(exponent)).padStart(2, "0")}`;
}

/** The shortest text that reads back as the same number, with an exponent where %g has one. */
export function formatDouble(value: number): string {
  if (Number.isNaN(value)) return "NaN";
  if (!Number.isFinite(value)) return value > 0 ? "+Inf" : "-Inf";
  if (value === 0) return Object.is(value, -0) ? "-0" : "0";
  const [mantissa = "", exponentDigits = "0"] = value.toExponential().split("e");
  const exponent = Number(exponentDigits);
  if (exponent < -4 || exponent >= EXPONENT_MAX) return `${mantissa}e${exponentText(exponent)}`;
  return String(value).includes("e") ? value.toFixed(20).replace(/0+$/, "") : String(value);
}

const DOUBLE = /^[-+]?(?:\d+\.?\d*|\.\d+)(?:[eE][-+]?\d+)?$/;
const SPECIAL = /^([-+]?)(inf|infinity|nan)$/i;

/** Undefined when it is none. */
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
