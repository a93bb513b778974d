/** What a schema has against the values of an object, in kubernetes' words. */
import type { FieldError } from "../../../../meta/status-error.ts";
import type { StructuralSchema } from "../schema.ts";
import { compileCheck } from "./compile.ts";
import { Walk } from "./walk.ts";

export interface ValueErrorOptions {
  /** On update, what the object was before: values that stay as they are have nothing held against them. */
  readonly existing?: unknown;
  /** Where the object stands, such as `status`; "" for a whole resource. */
  readonly field?: string;
  /** Of the release whose rules hold. */
  readonly minor?: number;
}

export type ValueCheck = (object: unknown, options: Omit<ValueErrorOptions, "minor">) => readonly FieldError[];

/** Older releases hold against an update also what it leaves as it is. */
export const RATCHETING_SINCE_MINOR = 30;
const LATEST_MINOR = 37;

export function* valueErrors(
  object: unknown,
  schema: StructuralSchema,
  { minor = LATEST_MINOR, ...options }: ValueErrorOptions = {},
): Generator<FieldError> {
  yield* compileValues(schema, minor)(object, options);
}

/** At most a hundred errors. */
export function compileValues(schema: StructuralSchema, minor: number = LATEST_MINOR): ValueCheck {
  const check = compileCheck(schema, minor);
  const comparesExisting = minor >= RATCHETING_SINCE_MINOR;
  return (object, { existing, field = "" }) => {
    let walk = new Walk(field);
    check(object, walk, undefined);
    // Comparing costs more than validating, and most objects are valid.
    if (walk.problems.length > 0 && existing !== undefined && comparesExisting) {
      walk = new Walk(field);
      check(object, walk, existing);
    }
    return walk.problems.map(({ error }) => error);
  };
}
