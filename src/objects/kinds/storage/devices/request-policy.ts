/** Validation of the policy that limits how much of a shared device capacity a request can consume. */
import { duplicateValue, forbiddenField, invalidValue, required } from "../../../../meta/field-errors.ts";
import { objectAt, stringsAt, type JsonObject } from "../../../../meta/json.ts";
import type { FieldError } from "../../../../meta/status-error.ts";
import { parseAmount, plus } from "../../../../meta/amounts.ts";
import { canonicalQuantity, nanosOf, unitsOf } from "../../../../meta/quantity.ts";
import { listErrors } from "./device-checks.ts";

const VALID_VALUES_MAX = 10;

/** `total`: the capacity that the requests share. */
export function* requestPolicyErrors(policy: JsonObject, field: string, total: unknown): Generator<FieldError> {
  const values = stringsAt(policy, "validValues");
  const hasRange = policy["validRange"] !== undefined;
  if (values.length > 0 && hasRange)
    yield forbiddenField(
      field,
      'exactly one policy can be specified, cannot specify "validValues" and "validRange" at the same time',
    );
  else if (values.length === 0 && !hasRange) return;
  else if ((policy["default"] ?? null) === null)
    yield required(`${field}.default`, `required when ${hasRange ? "validRange" : "validValues"} is defined`);
  else if (hasRange)
    yield* rangeErrors(objectAt(policy, "validRange"), `${field}.validRange`, {
      defaultValue: policy["default"],
      total,
    });
  else yield* validValuesErrors(values, `${field}.validValues`, { defaultValue: policy["default"], total });
}

interface Bounds {
  /** The amount for a request that does not name one. */
  readonly defaultValue: unknown;
  readonly total: unknown;
}

const shown = (value: unknown): string => canonicalQuantity(String(value));

function* validValuesErrors(
  values: readonly string[],
  field: string,
  { defaultValue, total }: Bounds,
): Generator<FieldError> {
  for (const [index, value] of values.entries())
    if (index > 0 && nanosOf(values[index - 1]) > nanosOf(value))
      yield invalidValue(`${field}[${index}]`, shown(value), "values must be sorted in ascending order");
  yield* listErrors(values, field, {
    max: VALID_VALUES_MAX,
    *errors(value, at) {
      if (nanosOf(value) > nanosOf(total))
        yield invalidValue(at, shown(value), `option is larger than capacity value: ${shown(total)}`);
    },
  });
  const isLookedAt = values.length <= VALID_VALUES_MAX;
  const seen = new Set<bigint>();
  for (const [index, value] of isLookedAt ? values.entries() : []) {
    const units = unitsOf(nanosOf(value));
    if (seen.has(units)) yield duplicateValue(`${field}[${index}]`, String(units));
    seen.add(units);
  }
  if (!isLookedAt || !values.some((value) => nanosOf(value) === nanosOf(defaultValue)))
    yield invalidValue(field, shown(defaultValue), "default value is not valid according to the requestPolicy");
}

function* rangeErrors(range: JsonObject, field: string, { defaultValue, total }: Bounds): Generator<FieldError> {
  const { min, max, step } = range;
  if (min === undefined) {
    yield required(`${field}.min`, "required when validRange is defined");
    return;
  }
  if (nanosOf(min) > nanosOf(total))
    yield invalidValue(`${field}.min`, shown(min), `min is larger than capacity value: ${shown(total)}`);
  if (nanosOf(defaultValue) < nanosOf(min))
    yield invalidValue(`${field}.min`, shown(defaultValue), `default is less than min: ${shown(min)}`);
  if (max !== undefined) {
    if (nanosOf(min) > nanosOf(max))
      yield invalidValue(`${field}.max`, shown(min), `min is larger than max: ${shown(max)}`);
    if (nanosOf(max) > nanosOf(total))
      yield invalidValue(`${field}.max`, shown(max), `max is larger than capacity value: ${shown(total)}`);
    if (nanosOf(defaultValue) > nanosOf(max))
      yield invalidValue(`${field}.max`, shown(defaultValue), `default is more than max: ${shown(max)}`);
  }
  if (step !== undefined) yield* stepErrors({ min, max, step }, `${field}.step`, { defaultValue, total });
}

function* stepErrors(
  { min, max, step }: { readonly min: unknown; readonly max: unknown; readonly step: unknown },
  field: string,
  { defaultValue, total }: Bounds,
): Generator<FieldError> {
  const first = plus(parseAmount(min), parseAmount(step));
  if (first.nanos > nanosOf(total)) {
    const sentence = `one step ${first.text} is larger than capacity value: ${shown(total)}`;
    yield invalidValue(field, shown(step), sentence);
  }
  // DIFFERS: for a step of zero, kube-apiserver panics and sends no response.
  if (unitsOf(nanosOf(step)) === 0n) return;
  for (const value of max === undefined ? [defaultValue] : [defaultValue, max])
    if ((unitsOf(nanosOf(value)) - unitsOf(nanosOf(min))) % unitsOf(nanosOf(step)) !== 0n)
      yield invalidValue(
        field,
        shown(value),
        `value is not a multiple of a given step (${shown(step)}) from (${shown(min)})`,
      );
}
