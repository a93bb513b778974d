/** The CEL type Quantity and its functions. A quantity is represented in billionths. */
import { nanosOfQuantity, NANOS_PER_UNIT, parseQuantity } from "../../../meta/quantity.ts";
import { EvalError, NO_SUCH_OVERLOAD, OpaqueValue, type Value } from "../values/value.ts";
import { overload, type Overload } from "./function.ts";

const NANOS_MAX = (2n ** 63n - 1n) * NANOS_PER_UNIT;

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
    return String(this.nanos / NANOS_PER_UNIT);
  }
}

function quantity(text: string): Quantity | EvalError {
  const parsed = parseQuantity(text);
  if (typeof parsed === "string") return new EvalError(parsed);
  const nanos = nanosOfQuantity(parsed);
  if (nanos > NANOS_MAX) return new Quantity(NANOS_MAX);
  return new Quantity(nanos < -NANOS_MAX ? -NANOS_MAX : nanos);
}

function orderOf(left: Quantity, right: Quantity): bigint {
  if (left.nanos === right.nanos) return 0n;
  return left.nanos < right.nanos ? -1n : 1n;
}

function isInteger({ nanos }: Quantity): boolean {
  const units = nanos / NANOS_PER_UNIT;
  return nanos % NANOS_PER_UNIT === 0n && BigInt.asIntN(64, units) === units;
}

function asInteger(value: Quantity): Value {
  return isInteger(value) ? value.nanos / NANOS_PER_UNIT : new EvalError("cannot convert value to integer");
}

function amountOf(value: Quantity | bigint): bigint {
  return typeof value === "bigint" ? value * NANOS_PER_UNIT : value.nanos;
}

function add(left: Quantity, right: Quantity | bigint): Value {
  return new Quantity(left.nanos + amountOf(right));
}

function subtract(left: Quantity, right: Quantity | bigint): Value {
  return new Quantity(left.nanos - amountOf(right));
}

export const QUANTITIES: readonly Overload[] = [
  overload("string_to_quantity", "quantity(string): Quantity", quantity),
  overload("is_quantity_string", "isQuantity(string): bool", (text: string) => quantity(text) instanceof Quantity),
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
