/**
 * The values of CEL expressions: int is a bigint, double is a number, and types without a JavaScript counterpart are
 * classes.
 */

/** The error result of an evaluation. It propagates through expressions like a value. */
export class EvalError {
  readonly message: string;

  constructor(message: string) {
    this.message = message;
  }
}

export class Uint {
  readonly value: bigint;

  constructor(value: bigint) {
    this.value = value;
  }
}

/** A time in nanoseconds since 1970, and the UTC offset with which it is formatted. */
export class Timestamp {
  readonly nanos: bigint;
  readonly offsetSeconds: number;

  constructor(nanos: bigint, offsetSeconds = 0) {
    this.nanos = nanos;
    this.offsetSeconds = offsetSeconds;
  }
}

export class Duration {
  readonly nanos: bigint;

  constructor(nanos: bigint) {
    this.nanos = nanos;
  }
}

/** A type as a value, as in `type(x) == string`. */
export class TypeValue {
  readonly name: string;

  constructor(name: string) {
    this.name = name;
  }
}

export class OptionalValue {
  readonly value: Value | undefined;

  constructor(value: Value | undefined) {
    this.value = value;
  }
}

export const NO_VALUE = new OptionalValue(undefined);

export abstract class ListValue {
  abstract readonly size: number;
  /**
   * The number of values of which the list consists, counting repetitions. A few nested macros can make it very large.
   */
  get weight(): number {
    return this.size;
  }
  abstract at(index: number): Value;
  abstract elements(): readonly Value[];

  equals(other: Value): boolean | EvalError {
    return other instanceof ListValue && this.hasEqualElements(other);
  }

  concat(other: ListValue): ListValue {
    if (other.size === 0) return this;
    return this.size === 0 ? other : new ConcatList(this, other);
  }

  protected hasEqualElements(other: ListValue): boolean | EvalError {
    if (this.size !== other.size) return false;
    for (let index = 0; index < this.size; index++) {
      const isEqual = equals(this.at(index), other.at(index));
      if (isEqual !== true) return isEqual;
    }
    return true;
  }
}

export function weightOf(value: Value): number {
  if (value instanceof ListValue || value instanceof MapValue) return value.weight;
  return value instanceof OptionalValue && value.value !== undefined ? weightOf(value.value) : 1;
}

export class ArrayList extends ListValue {
  readonly size: number;
  readonly #elements: readonly Value[];
  readonly #weight: number;

  constructor(elements: readonly Value[]) {
    super();
    this.#elements = elements;
    this.size = elements.length;
    let weight = 0;
    for (const element of elements) weight += weightOf(element);
    this.#weight = weight;
  }

  override get weight(): number {
    return this.#weight;
  }

  at(index: number): Value {
    return this.#elements[index] ?? null;
  }

  elements(): readonly Value[] {
    return this.#elements;
  }
}

/**
 * Bounds the memory of a list, because doubling a list a few times would exhaust the memory. DIFFERS: kubernetes has no
 * such bound.
 */
const ELEMENTS_MAX = 4_000_000;

class ConcatList extends ListValue {
  readonly size: number;
  readonly #left: ListValue;
  readonly #right: ListValue;
  readonly #weight: number;
  #joined: readonly Value[] | undefined;

  constructor(left: ListValue, right: ListValue) {
    super();
    this.#left = left;
    this.#right = right;
    this.size = left.size + right.size;
    this.#weight = left.weight + right.weight;
  }

  override get weight(): number {
    return this.#weight;
  }

  at(index: number): Value {
    return this.elements()[index] ?? null;
  }

  elements(): readonly Value[] {
    if (this.#joined === undefined) {
      if (this.size > ELEMENTS_MAX) throw new CostLimitExceeded();
      this.#joined = [...this.#left.elements(), ...this.#right.elements()];
    }
    return this.#joined;
  }
}

export abstract class MapValue {
  abstract readonly size: number;
  get weight(): number {
    return this.size;
  }
  /** Undefined if there is no such key. */
  abstract find(key: Value): Value | undefined;
  abstract keys(): readonly Value[];

  equals(other: Value): boolean | EvalError {
    if (!(other instanceof MapValue) || this.size !== other.size) return false;
    for (const key of this.keys()) {
      const theirs = other.find(key);
      if (theirs === undefined) return false;
      const isEqual = equals(this.find(key) ?? null, theirs);
      if (isEqual !== true) return isEqual;
    }
    return true;
  }
}

/** A value of a type that the Kubernetes libraries add. */
export abstract class OpaqueValue {
  abstract readonly typeName: string;
  abstract equals(other: Value): boolean | EvalError;
  /** The size from which the cost of a call is computed. */
  readonly size: number = 1;
  /** The value as conversions and messages show it. */
  abstract toString(): string;
}

export type Value =
  | null
  | boolean
  | bigint
  | number
  | string
  | Uint8Array
  | Uint
  | Timestamp
  | Duration
  | TypeValue
  | OptionalValue
  | ListValue
  | MapValue
  | OpaqueValue
  | EvalError;

/** Thrown to end the evaluation at once. */
export class CostLimitExceeded extends Error {
  override readonly name = "CostLimitExceeded";

  constructor() {
    super("operation cancelled: actual cost limit exceeded");
  }
}

export const NO_SUCH_OVERLOAD = new EvalError("no such overload");

export function isError(value: Value): value is EvalError {
  return value instanceof EvalError;
}

function sameBytes(left: Uint8Array, right: Uint8Array): boolean {
  return Buffer.compare(left, right) === 0;
}

function numberEquals(left: bigint | number | Uint, right: Value): boolean {
  const mine = left instanceof Uint ? left.value : left;
  const theirs = right instanceof Uint ? right.value : right;
  // oxlint-disable-next-line eqeqeq -- compares int with double by value
  return (typeof theirs === "bigint" || typeof theirs === "number") && mine == theirs;
}

/** Equality as CEL defines it: numbers of different types can be equal; other values of different types never are. */
export function equals(left: Value, right: Value): boolean | EvalError {
  switch (typeof left) {
    case "string":
    case "boolean":
      return left === right;
    case "bigint":
    case "number":
      return typeof left === typeof right ? left === right : numberEquals(left, right);
    default:
      return left === null || right === null ? left === right : objectEquals(left, right);
  }
}

function objectEquals(left: object, right: Value): boolean | EvalError {
  if (left instanceof ListValue || left instanceof MapValue || left instanceof OpaqueValue) return left.equals(right);
  if (left instanceof Uint) return numberEquals(left, right);
  if (left instanceof Timestamp || left instanceof Duration) return timeEquals(left, right);
  if (left instanceof Uint8Array) return right instanceof Uint8Array && sameBytes(left, right);
  if (left instanceof TypeValue) return right instanceof TypeValue && left.name === right.name;
  if (left instanceof OptionalValue) return right instanceof OptionalValue && optionalEquals(left, right);
  return left instanceof EvalError ? left : false;
}

function timeEquals(left: Timestamp | Duration, right: Value): boolean {
  const isSameKind = left instanceof Timestamp ? right instanceof Timestamp : right instanceof Duration;
  return isSameKind && left.nanos === (right as Timestamp | Duration).nanos;
}

function optionalEquals(left: OptionalValue, right: OptionalValue): boolean | EvalError {
  if (left.value === undefined || right.value === undefined) return left.value === right.value;
  return equals(left.value, right.value);
}

/** The name that `type()` returns. */
export function typeName(value: Value): string {
  switch (typeof value) {
    case "string":
      return "string";
    case "boolean":
      return "bool";
    case "bigint":
      return "int";
    case "number":
      return "double";
    default:
      return value === null ? "null_type" : objectTypeName(value);
  }
}

function objectTypeName(value: object): string {
  if (value instanceof ListValue) return "list";
  if (value instanceof MapValue) return "map";
  if (value instanceof Uint) return "uint";
  if (value instanceof Uint8Array) return "bytes";
  if (value instanceof Timestamp) return "google.protobuf.Timestamp";
  if (value instanceof Duration) return "google.protobuf.Duration";
  if (value instanceof TypeValue) return "type";
  if (value instanceof OptionalValue) return "optional_type";
  if (value instanceof OpaqueValue) return value.typeName;
  return "error";
}
