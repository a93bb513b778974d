/** Validates the values of an object against its schema, with the messages of kubernetes. */
import type { FieldError } from "../../../../meta/status-error.ts";
import type { StructuralSchema } from "../schema.ts";
import { compileCheck } from "./compile.ts";
import { Walk } from "./walk.ts";
import { NEWEST_GATES } from "../../../../objects/catalog/release-gates.ts";
import type { ReleaseGates } from "../../../../objects/release-gates.ts";

export interface ValueErrorOptions {
  /** The existing value on an update. Errors of unchanged values are not reported. */
  readonly existing?: unknown;
  /** Path of the object, such as `status`; "" for a whole resource. */
  readonly field?: string;
  /** Gates of the release by whose rules the values are validated. Default: those of the newest release. */
  readonly gates?: ReleaseGates;
}

type ValueCheck = (object: unknown, options: Omit<ValueErrorOptions, "gates">) => readonly FieldError[];

export function* valueErrors(
  object: unknown,
  schema: StructuralSchema,
  { gates = NEWEST_GATES, ...options }: ValueErrorOptions = {},
): Generator<FieldError> {
  yield* compileValues(schema, gates)(object, options);
}

/** Compiles a check that returns at most a hundred errors. */
export function compileValues(schema: StructuralSchema, gates: ReleaseGates = NEWEST_GATES): ValueCheck {
  const check = compileCheck(schema, gates);
  const comparesExisting = gates.isOn("CRDValidationRatcheting");
  return (object, { existing, field = "" }) => {
    let walk = new Walk(field);
    check(object, walk, undefined);
    // Existing values are compared only if there are errors: comparing costs more than validating, and most objects are
    // valid.
    if (walk.problems.length > 0 && existing !== undefined && comparesExisting) {
      walk = new Walk(field);
      check(object, walk, existing);
    }
    return walk.problems.map(({ error }) => error);
  };
}
