/**
 * Evaluates attributes: a variable or an intermediate result, followed by the fields and indexes that are selected from
 * it.
 */
import { EvalError, ListValue, MapValue, NO_VALUE, OptionalValue, Uint, type Value } from "../values/value.ts";
import type { Evaluate, Frame } from "./frame.ts";

interface Qualifier {
  /** Evaluates the field or index. */
  readonly key: Evaluate;
  /** True if the field or index was written with a question mark. */
  readonly isOptional: boolean;
  /** True for the last field of the argument of has(). */
  readonly isTest: boolean;
}

export interface Attribute {
  readonly base: Evaluate;
  readonly qualifiers: readonly Qualifier[];
  /** True for `a ? b : c`, which has no cost of its own. */
  readonly isConditional: boolean;
}

export function mapKeyText(key: Value): string {
  if (key instanceof Uint) return String(key.value);
  return typeof key === "string" || typeof key === "bigint" || typeof key === "number" ? String(key) : "";
}

function listIndex(key: Value): number | undefined {
  if (typeof key === "bigint") return Number(key);
  if (key instanceof Uint) return Number(key.value);
  return typeof key === "number" && Number.isInteger(key) ? key : undefined;
}

/** The value of a field or index; undefined if `value` has no such field or index. */
function find(value: Value, key: Value): Value | undefined {
  if (value instanceof MapValue) return value.find(key);
  if (!(value instanceof ListValue)) return undefined;
  const index = listIndex(key);
  if (index === undefined) return new EvalError(`unsupported index type '${typeof key}' in list`);
  return index < 0 || index >= value.size ? undefined : value.at(index);
}

function missing(value: Value, key: Value): EvalError {
  return new EvalError(`${value instanceof ListValue ? "index out of bounds" : "no such key"}: ${mapKeyText(key)}`);
}

function isPresent(value: Value, key: Value): Value {
  const found = find(value, key);
  return found instanceof EvalError ? found : found !== undefined;
}

/** The value at the end of the path. */
export function resolve(attribute: Attribute, frame: Frame): Value {
  let value = attribute.base(frame);
  if (value instanceof EvalError) return value;
  let isOptional = value instanceof OptionalValue && attribute.qualifiers.length > 0;
  if (value instanceof OptionalValue && isOptional) {
    if (value.value === undefined) return value;
    value = value.value;
  }
  for (const qualifier of attribute.qualifiers) {
    const key = qualifier.key(frame);
    if (key instanceof EvalError) return key;
    isOptional ||= qualifier.isOptional;
    const found: Value | undefined = qualifier.isTest ? isPresent(value, key) : find(value, key);
    if (found === undefined && isOptional) return NO_VALUE;
    frame.charge(1);
    if (found === undefined) return missing(value, key);
    if (found instanceof EvalError) return found;
    value = found;
  }
  return isOptional ? new OptionalValue(value) : value;
}

/** Fast path for the most frequent case: fields of a variable. */
export function fieldsOfSlot(slot: number, fields: readonly string[]): Evaluate {
  return (frame) => {
    let value = frame.slots[slot] ?? null;
    for (const field of fields) {
      const found = value instanceof MapValue ? value.find(field) : find(value, field);
      if (found === undefined || found instanceof EvalError || value instanceof OptionalValue)
        return resolveSlowly(frame, slot, fields);
      value = found;
    }
    frame.charge(fields.length + 1);
    return value;
  };
}

function resolveSlowly(frame: Frame, slot: number, fields: readonly string[]): Value {
  const qualifiers = fields.map((field) => ({ key: () => field, isOptional: false, isTest: false }));
  const value = resolve({ base: () => frame.slots[slot] ?? null, qualifiers, isConditional: false }, frame);
  frame.charge(1);
  return value;
}

/** Resolves the attribute and charges its cost. */
export function attributeEvaluate(attribute: Attribute): Evaluate {
  const isTest = attribute.qualifiers.at(-1)?.isTest === true;
  if (attribute.isConditional || isTest) return (frame) => resolve(attribute, frame);
  return (frame) => {
    const value = resolve(attribute, frame);
    frame.charge(1);
    return value;
  };
}
