/** Quantities as servers print them: `1024Mi` is `1Gi`, `1000m` is `1`, `1.5Gi` is `1536Mi`. */

type Format = "decimal" | "exponent" | "binary";

interface Quantity {
  readonly isNegative: boolean;
  /** The value is digits × 10^exponent × 2^twos. */
  readonly digits: bigint;
  readonly exponent: number;
  readonly twos: number;
  readonly format: Format;
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
const BINARY_MAX = 2n ** 63n - 1n;
const SMALLEST_EXPONENT = -9;
/** Longer texts and larger exponents are nobody's quantities; they are shown as they were written. */
const LENGTH_MAX = 64;
const EXPONENT_MAX = 60;

export function canonicalQuantity(text: string): string {
  const quantity = text.length > LENGTH_MAX ? undefined : parseQuantity(text);
  if (quantity === undefined) return text;
  if (isKeptAsWritten(text, quantity)) return text;
  const magnitude = quantity.format === "binary" ? binaryText(quantity) : decimalText(quantity, quantity.format);
  if (magnitude === undefined) return text;
  return quantity.isNegative && magnitude !== "0" ? `-${magnitude}` : magnitude;
}

function parseQuantity(text: string): Quantity | undefined {
  const match = /^([+-]?)([0-9]*)(?:\.([0-9]*))?([a-zA-Z]*(?:[+-]?[0-9]+)?)$/.exec(text);
  const [, sign, whole = "", fraction = "", suffix = ""] = match ?? [];
  if (match === null || whole + fraction === "") return undefined;
  const scale = readSuffix(suffix);
  if (scale === undefined || Math.abs(scale.exponent) > EXPONENT_MAX) return undefined;
  return {
    isNegative: sign === "-",
    digits: BigInt(whole + fraction),
    exponent: scale.exponent - fraction.length,
    twos: scale.twos,
    format: scale.format,
  };
}

function readSuffix(suffix: string): Pick<Quantity, "exponent" | "twos" | "format"> | undefined {
  const decimal = DECIMAL_SUFFIXES.find(([name]) => name === suffix);
  if (decimal !== undefined) return { exponent: decimal[1], twos: 0, format: "decimal" };
  const binary = BINARY_SUFFIXES.indexOf(suffix);
  if (binary > 0) return { exponent: 0, twos: binary * 10, format: "binary" };
  const exponent = /^[eE]([+-]?[0-9]+)$/.exec(suffix)?.[1];
  return exponent === undefined ? undefined : { exponent: Number(exponent), twos: 0, format: "exponent" };
}

/** What already looks canonical is not rewritten, even where it is not quite: `1.500` stays. */
function isKeptAsWritten(text: string, { digits, exponent, format }: Quantity): boolean {
  const number = /^[+-]?0*([0-9]*)(?:\.([0-9]*))?/.exec(text);
  const fraction = number?.[2] ?? "";
  if (format === "binary") return fraction === "" && (digits & 7n) !== 0n;
  const shown = (number?.[1] === "" ? "0" : (number?.[1] ?? "0")) + fraction;
  const isShort = shown.length <= 18 && exponent >= SMALLEST_EXPONENT;
  return isShort && exponent % 3 === 0 && !shown.endsWith("000") && !shown.startsWith("0");
}

function binaryText(quantity: Quantity): string | undefined {
  const divisor = 10n ** BigInt(-quantity.exponent);
  const scaled = quantity.digits << BigInt(quantity.twos);
  const isWhole = scaled % divisor === 0n;
  const whole = scaled / divisor;
  // A rounded or a small number would be confusing in powers of 1024.
  if (!isWhole || whole < 1024n) return decimalText({ ...quantity, digits: scaled, twos: 0 }, "decimal");
  let rest = whole > BINARY_MAX ? BINARY_MAX : whole;
  let power = 0;
  while (rest % 1024n === 0n) {
    rest /= 1024n;
    power++;
  }
  return `${rest}${BINARY_SUFFIXES[power] ?? ""}`;
}

function decimalText(quantity: Quantity, format: "decimal" | "exponent"): string | undefined {
  let { digits, exponent } = quantity;
  if (digits === 0n) return "0";
  if (exponent < SMALLEST_EXPONENT) {
    const divisor = 10n ** BigInt(SMALLEST_EXPONENT - exponent);
    digits = (digits + divisor - 1n) / divisor;
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
