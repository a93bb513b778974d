/** Quantities, counted in billionths. */
import { EvalError, NO_SUCH_OVERLOAD, OpaqueValue, type Value } from "../values/value.ts";
import { overload, type Overload } from "./function.ts";

const QUANTITY = /^([+-]?)(\d*)(?:\.(\d*))?([eEinumkKMGTP]*)([-+]?\d*)$/;
const TEXT_LENGTH_MAX = 1000;
const EXPONENT_MAX = 100;
const NANOS = 1_000_000_000n;
const INT_MAX = 2n ** 63n - 1n;

const WRONG_FORMAT = new EvalError(
  "quantities must match the regular expression '^([+-]?[0-9.]+)([eEinumkKMGTP]*[-+]?[0-9]*)$'",
);
const WRONG_SUFFIX = new EvalError("unable to parse quantity's suffix");

const DECIMAL: ReadonlyMap<string, number> = new Map([
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
]);

class Quantity extends OpaqueValue {
  readonly typeName = "kubernetes.Quantity";
  readonly nanos: bigint;

  constructor(nanos: bigint) {
    super();
    this.nanos = nanos;
  }

  equals(other: Value): boolean | EvalError {
    return other instanceof Quantity ? this.nanos === other.nanos : NO_SUCH_OVERLOAD;
  }

  toString(): string {
    return String(this.nanos / NANOS);
  }
}

interface Scale {
  readonly factor: bigint;
  readonly exponent: number;
}

function scaleOf(suffix: string, digits: string): Scale | undefined {
  if (digits !== "") {
    const exponent = Number(digits);
    const isExponent = suffix === "e" || suffix === "E";
    return isExponent && Math.abs(exponent) <= EXPONENT_MAX ? { factor: 1n, exponent } : undefined;
  }
  const exponent = DECIMAL.get(suffix);
  if (exponent !== undefined) return { factor: 1n, exponent };
  const power = /^[KMGTPE]i$/.test(suffix) ? "KMGTPE".indexOf(suffix[0] ?? "") + 1 : 0;
  return power === 0 ? undefined : { factor: 1024n ** BigInt(power), exponent: 0 };
}

/** What is smaller than a billionth is rounded up, away from zero. */
function parseQuantity(text: string): Quantity | EvalError {
  const match = text.length > TEXT_LENGTH_MAX ? null : QUANTITY.exec(text);
  const [, sign = "", whole = "", fraction = "", suffix = "", digits = ""] = match ?? [];
  if (match === null || (whole === "" && fraction === "")) return WRONG_FORMAT;
  const scale = scaleOf(suffix, digits);
  if (scale === undefined) return WRONG_SUFFIX;
  const amount = BigInt(whole + fraction) * scale.factor;
  const exponent = scale.exponent + 9 - fraction.length;
  let nanos = amount;
  if (exponent >= 0) nanos = amount * 10n ** BigInt(exponent);
  else {
    const divisor = 10n ** BigInt(-exponent);
    nanos = (amount + divisor - 1n) / divisor;
  }
  const limited = nanos > INT_MAX * NANOS ? INT_MAX * NANOS : nanos;
  return new Quantity(sign === "-" ? -limited : limited);
}

function orderOf(left: Quantity, right: Quantity): bigint {
  if (left.nanos === right.nanos) return 0n;
  return left.nanos < right.nanos ? -1n : 1n;
}

function isInteger({ nanos }: Quantity): boolean {
  const units = nanos / NANOS;
  return nanos % NANOS === 0n && BigInt.asIntN(64, units) === units;
}

function asInteger(quantity: Quantity): Value {
  return isInteger(quantity) ? quantity.nanos / NANOS : new EvalError("cannot convert value to integer");
}

function amountOf(value: Quantity | bigint): bigint {
  return typeof value === "bigint" ? value * NANOS : value.nanos;
}

function add(left: Quantity, right: Quantity | bigint): Value {
  return new Quantity(left.nanos + amountOf(right));
}

function subtract(left: Quantity, right: Quantity | bigint): Value {
  return new Quantity(left.nanos - amountOf(right));
}

export const QUANTITIES: readonly Overload[] = [
  overload("string_to_quantity", "quantity(string): Quantity", parseQuantity),
  overload("is_quantity_string", "isQuantity(string): bool", (text: string) => parseQuantity(text) instanceof Quantity),
  overload("quantity_sign", "sign(Quantity): int", (value: Quantity) => orderOf(value, new Quantity(0n))),
  overload(
    "quantity_is_greater_than",
    "Quantity.isGreaterThan(Quantity): bool",
    (left: Quantity, right: Quantity) => left.nanos > right.nanos,
  ),
  overload(
    "quantity_is_less_than",
    "Quantity.isLessThan(Quantity): bool",
    (left: Quantity, right: Quantity) => left.nanos < right.nanos,
  ),
  overload("quantity_compare_to", "Quantity.compareTo(Quantity): int", orderOf),
  overload("quantity_get_float", "Quantity.asApproximateFloat(): double", ({ nanos }: Quantity) => Number(nanos) / 1e9),
  overload("quantity_get_int", "Quantity.asInteger(): int", asInteger),
  overload("quantity_is_integer", "Quantity.isInteger(): bool", isInteger),
  overload("quantity_add", "Quantity.add(Quantity): Quantity", add),
  overload("quantity_add_int", "Quantity.add(int): Quantity", add),
  overload("quantity_sub", "Quantity.sub(Quantity): Quantity", subtract),
  overload("quantity_sub_int", "Quantity.sub(int): Quantity", subtract),
];
