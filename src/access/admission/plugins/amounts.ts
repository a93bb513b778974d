/** Arithmetic with lists of resources, such as requests and quotas are. What is summed up reads as kubernetes writes it. */
import { isBinaryQuantity, nanosOf } from "../../../objects/kinds/quantity.ts";
import { objectAt, setMember, type JsonObject } from "../../../meta/json.ts";
import { canonicalQuantity } from "../../../objects/table/quantity.ts";

/** How the text of a sum is written. */
type Format = "decimal" | "exponent" | "binary";

export interface Amount {
  readonly nanos: bigint;
  readonly format: Format;
  readonly text: string;
}

/** By name of the resource. */
export type Amounts = ReadonlyMap<string, Amount>;

export const NO_AMOUNTS: Amounts = new Map();
export const ZERO_AMOUNT: Amount = { nanos: 0n, format: "decimal", text: "0" };
export const ONE_AMOUNT: Amount = { nanos: 1_000_000_000n, format: "decimal", text: "1" };

const NANOS_PER_UNIT = 1_000_000_000n;
const NANOS_PER_MILLI = 1_000_000n;
const BINARY_SUFFIXES: readonly string[] = ["", "Ki", "Mi", "Gi", "Ti", "Pi", "Ei"];
const BINARY_BASE = 1024n;

export function parseAmount(value: unknown): Amount {
  const text = canonicalQuantity(String(value ?? "0"));
  const isExponent = /[eE][+-]?[0-9]/.test(text);
  return {
    nanos: nanosOf(text),
    format: isBinaryQuantity(text) ? "binary" : isExponent ? "exponent" : "decimal",
    text,
  };
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

function amount(nanos: bigint, format: Format): Amount {
  return { nanos, format, text: amountText(nanos, format) };
}

function amountText(nanos: bigint, format: Format): string {
  if (nanos === 0n) return "0";
  if (format === "binary") return binaryText(nanos) ?? amountText(nanos, "decimal");
  return canonicalQuantity(format === "exponent" ? `${nanos}e-9` : `${nanos}n`);
}

/** Undefined for what would have to be rounded, or is too small for it. */
function binaryText(nanos: bigint): string | undefined {
  let rest = nanos / NANOS_PER_UNIT;
  if (rest * NANOS_PER_UNIT !== nanos || (rest > -BINARY_BASE && rest < BINARY_BASE)) return undefined;
  let power = 0;
  for (; rest % BINARY_BASE === 0n && power < BINARY_SUFFIXES.length - 1; power++) rest /= BINARY_BASE;
  return `${rest}${BINARY_SUFFIXES[power]!}`;
}

/** A sum is written as its first part that is something. */
export function plus(left: Amount, right: Amount): Amount {
  return amount(left.nanos + right.nanos, left.nanos === 0n ? right.format : left.format);
}

function minus(left: Amount, right: Amount): Amount {
  return amount(left.nanos - right.nanos, left.nanos === 0n ? right.format : left.format);
}

export function roundedUpToUnit(one: Amount): Amount {
  const units = ceilDivide(one.nanos, NANOS_PER_UNIT);
  return units * NANOS_PER_UNIT === one.nanos ? one : amount(units * NANOS_PER_UNIT, one.format);
}

/** Whole units, away from nothing. */
export function unitsOf({ nanos }: Amount): bigint {
  return ceilDivide(nanos, NANOS_PER_UNIT);
}

export function amountMillis({ nanos }: Amount): bigint {
  return ceilDivide(nanos, NANOS_PER_MILLI);
}

function ceilDivide(value: bigint, by: bigint): bigint {
  const whole = value / by;
  if (whole * by === value) return whole;
  return value < 0n ? whole - 1n : whole + 1n;
}

/** In place. */
export function addTo(sum: Map<string, Amount>, more: Amounts): void {
  for (const [name, one] of more) {
    const known = sum.get(name);
    sum.set(name, known === undefined ? one : plus(known, one));
  }
}

/** In place: whatever is greater. */
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

/** Never below nothing. */
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
