/**
 * Arithmetic with maps of resource names to amounts, such as requests, limits and quotas. Sums are written as
 * Kubernetes writes them.
 */
import { objectAt, setMember, type JsonObject } from "./json.ts";
import {
  canonicalQuantity,
  formatOf,
  nanosOf,
  NANOS_PER_UNIT,
  quantityText,
  unitsOf,
  type QuantityFormat,
} from "./quantity.ts";

export interface Amount {
  readonly nanos: bigint;
  readonly format: QuantityFormat;
  /** The canonical text of the amount. */
  readonly text: string;
}

/** Amounts keyed by resource name. */
export type Amounts = ReadonlyMap<string, Amount>;

export const NO_AMOUNTS: Amounts = new Map();
export const ZERO_AMOUNT: Amount = { nanos: 0n, format: "decimal", text: "0" };
export const ONE_AMOUNT: Amount = { nanos: 1_000_000_000n, format: "decimal", text: "1" };

export function parseAmount(value: unknown): Amount {
  const text = canonicalQuantity(String(value ?? "0"));
  return { nanos: nanosOf(text), format: formatOf(text), text };
}

export function wholeAmount(count: number): Amount {
  return amount(BigInt(count) * NANOS_PER_UNIT, "decimal");
}

export function amountsAt(parent: JsonObject, key: string): Map<string, Amount> {
  return new Map(Object.entries(objectAt(parent, key)).map(([name, value]) => [name, parseAmount(value)]));
}

export function amountsObject(amounts: Amounts): JsonObject {
  const object: JsonObject = {};
  for (const [name, { text }] of amounts) setMember(object, name, text);
  return object;
}

/** The text is computed on access, because most sums are only summands of other sums. */
class ComputedAmount implements Amount {
  readonly nanos: bigint;
  readonly format: QuantityFormat;

  constructor(nanos: bigint, format: QuantityFormat) {
    this.nanos = nanos;
    this.format = format;
  }

  get text(): string {
    return quantityText(this.nanos, this.format);
  }
}

function amount(nanos: bigint, format: QuantityFormat): Amount {
  return new ComputedAmount(nanos, format);
}

/** The sum, in the notation of the first part that is not zero. */
export function plus(left: Amount, right: Amount): Amount {
  return amount(left.nanos + right.nanos, left.nanos === 0n ? right.format : left.format);
}

function minus(left: Amount, right: Amount): Amount {
  return amount(left.nanos - right.nanos, left.nanos === 0n ? right.format : left.format);
}

export function roundedUpToUnit(one: Amount): Amount {
  const nanos = unitsOf(one.nanos) * NANOS_PER_UNIT;
  return nanos === one.nanos ? one : amount(nanos, one.format);
}

/** Adds the amounts `more` to `sum`, in place. */
export function addTo(sum: Map<string, Amount>, more: Amounts): void {
  for (const [name, one] of more) {
    const known = sum.get(name);
    sum.set(name, known === undefined ? one : plus(known, one));
  }
}

/**
 * Raises each amount of `highest` in place to the amount in `others` if that is greater, and adds the amounts that
 * `highest` lacks.
 */
export function raiseTo(highest: Map<string, Amount>, others: Amounts): void {
  for (const [name, one] of others) {
    const known = highest.get(name);
    if (known === undefined || one.nanos > known.nanos) highest.set(name, one);
  }
}

export function added(left: Amounts, right: Amounts): Map<string, Amount> {
  const sum = new Map(left);
  addTo(sum, right);
  return sum;
}

/** The differences; zero instead of a negative difference. */
export function subtracted(left: Amounts, right: Amounts): Map<string, Amount> {
  const rest = new Map<string, Amount>();
  for (const [name, one] of left) {
    const other = right.get(name);
    const difference = other === undefined ? one : minus(one, other);
    rest.set(name, difference.nanos > 0n ? difference : ZERO_AMOUNT);
  }
  for (const name of right.keys()) if (!rest.has(name)) rest.set(name, ZERO_AMOUNT);
  return rest;
}

export function masked(amounts: Amounts, names: { has(name: string): boolean }): Map<string, Amount> {
  return new Map([...amounts].filter(([name]) => names.has(name)));
}

export function withoutZeros(amounts: Amounts): Map<string, Amount> {
  return new Map([...amounts].filter(([, { nanos }]) => nanos !== 0n));
}

export function isSameAmounts(left: Amounts, right: Amounts): boolean {
  return left.size === right.size && [...left].every(([name, { nanos }]) => right.get(name)?.nanos === nanos);
}
