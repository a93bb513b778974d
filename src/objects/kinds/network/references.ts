/** Validation of the fields of references to other objects. */
import { required } from "../../../meta/field-errors.ts";
import { stringAt, type JsonObject } from "../../../meta/json.ts";
import { pathSegmentErrors } from "../../../meta/names.ts";
import type { FieldError } from "../../../meta/status-error.ts";
import { nameErrors } from "../checks.ts";

/** Checks a required field that must be a valid path segment. */
export function* segmentErrors(reference: JsonObject, key: string, field: string): Generator<FieldError> {
  const value = stringAt(reference, key);
  if (value === "") yield required(`${field}.${key}`);
  else yield* nameErrors(value, `${field}.${key}`, pathSegmentErrors);
}
