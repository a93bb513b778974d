/** Sentences about fields that more than one kind here needs. */
import type { FieldError } from "../../meta/status-error.ts";

/** A body can hold a million mistakes; DIFFERS: kubernetes tells all of them. */
const ERRORS_TOLD_MAX = 100;

/** The first errors of a check that goes no further than it is asked. */
export function firstErrors(errors: Iterable<FieldError>): FieldError[] {
  return Iterator.from(errors).take(ERRORS_TOLD_MAX).toArray();
}

export function duplicateValue(field: string, value: string): FieldError {
  return { field, reason: "FieldValueDuplicate", message: `Duplicate value: ${JSON.stringify(value)}` };
}

export function unsupportedValue(field: string, value: string, supported: readonly string[]): FieldError {
  const list = supported.map((one) => JSON.stringify(one)).join(", ");
  const message = `Unsupported value: ${JSON.stringify(value)}: supported values: ${list}`;
  return { field, reason: "FieldValueNotSupported", message };
}

export function tooLong(field: string, bytesMax: number): FieldError {
  return { field, reason: "FieldValueTooLong", message: `Too long: may not be more than ${bytesMax} bytes` };
}
