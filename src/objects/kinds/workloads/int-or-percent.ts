/** Validation of fields that are a number or a percentage: maxUnavailable, maxSurge, minAvailable. */
import { invalidValue } from "../../../meta/field-errors.ts";
import type { FieldError } from "../../../meta/status-error.ts";
import { nonNegativeErrors } from "../checks.ts";

const PERCENT = /^[0-9]+%$/;
const PERCENT_SENTENCE =
  "a valid percent string must be a numeric string followed by an ending '%' (e.g. '1%',  or '93%', regex used for validation is '[0-9]+%')";

export function* intOrPercentErrors(value: unknown, field: string): Generator<FieldError> {
  if (typeof value !== "string") yield* nonNegativeErrors(countOf(value), field);
  else if (!PERCENT.test(value)) yield invalidValue(field, value, PERCENT_SENTENCE);
}

export function* over100PercentErrors(value: unknown, field: string): Generator<FieldError> {
  if (isPercent(value) && Number.parseInt(value, 10) > 100)
    yield invalidValue(field, value, "must not be greater than 100%");
}

/** The number, or the number before the percent sign; 0 for any other value. */
export function countOf(value: unknown): number {
  if (isPercent(value)) return Number.parseInt(value, 10);
  if (typeof value === "string") return /^[+-]?[0-9]+$/.test(value) ? Number(value) : 0;
  return typeof value === "number" ? value : 0;
}

function isPercent(value: unknown): value is string {
  return typeof value === "string" && PERCENT.test(value);
}
