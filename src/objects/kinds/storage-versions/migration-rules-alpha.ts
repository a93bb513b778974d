/**
 * Validation of StorageVersionMigrations in v1alpha1, which releases before 1.35 serve. Unlike later versions, a
 * v1alpha1 migration also names the API version, and cannot be running if it has ended.
 */
import { objectAt, stringAt, type JsonObject } from "../../../meta/json.ts";
import type { FieldError } from "../../../meta/status-error.ts";
import { firstErrors, invalidValue, required } from "../../../meta/field-errors.ts";
import { conditionErrors, conditionsOf, isTrue, timeOf } from "./conditions.ts";
import { checkpointErrors, contradictionErrors, reversalErrors } from "./migration-rules.ts";

const INT64_MAX = 2n ** 63n - 1n;
const INT64_DIGITS_MAX = 19;

export function alphaMigrationErrors(migration: JsonObject): FieldError[] {
  const resource = resourceOf(migration);
  return ["resource", "version"]
    .filter((key) => stringAt(resource, key) === "")
    .map((key) => required(`spec.resource.${key}`, `${key} is required`));
}

/** As kubernetes: the paths in errors consist of the last field name only, and the continue token may change. */
export function alphaMigrationUpdateErrors(migration: JsonObject, existing: JsonObject): FieldError[] {
  const resource = resourceOf(migration);
  const before = resourceOf(existing);
  const changed = ["group", "version", "resource"].filter((key) => stringAt(resource, key) !== stringAt(before, key));
  return [
    ...alphaMigrationErrors(migration),
    ...changed.map((key) => invalidValue(key, stringAt(resource, key), "field is immutable")),
  ];
}

export function alphaMigrationStatusErrors(migration: JsonObject, existing: JsonObject): FieldError[] {
  return firstErrors(statusErrors(objectAt(migration, "status"), objectAt(existing, "status")));
}

function* statusErrors(status: JsonObject, before: JsonObject): Generator<FieldError> {
  const conditions = conditionsOf(status);
  const shown = shownConditions(status);
  yield* resourceVersionErrors(stringAt(status, "resourceVersion"));
  yield* conditionErrors(conditions, "lastUpdateTime");
  yield* checkpointErrors(status, before);
  yield* contradictionErrors(status, shown);
  if (isTrue(conditions, "Running")) {
    const field = "status.conditions";
    if (isTrue(conditions, "Succeeded"))
      yield invalidValue(field, shown, "Running condition cannot be true when success condition is true");
    if (isTrue(conditions, "Failed"))
      yield invalidValue(field, shown, "Running condition cannot be true when failed condition is true");
  }
  yield* reversalErrors(status, before, shown);
}

/** Checks the resource version as Go parses a 64-bit integer. */
function* resourceVersionErrors(version: string): Generator<FieldError> {
  if (version === "") return;
  const field = "status.resourceVersion";
  const quoted = JSON.stringify(version);
  const because = `failed to parse resource version ${quoted}: strconv.ParseInt: parsing ${quoted}`;
  if (!/^[+-]?[0-9]+$/.test(version)) {
    yield invalidValue(field, version, `${because}: invalid syntax`);
    return;
  }
  const isNegative = version.startsWith("-");
  const digits = version.replace(/^[+-]/, "").replace(/^0+(?=[0-9])/, "");
  if (digits.length > INT64_DIGITS_MAX || BigInt(digits) > INT64_MAX + (isNegative ? 1n : 0n))
    yield invalidValue(field, version, `${because}: value out of range`);
  else if (isNegative && digits !== "0")
    yield {
      field,
      reason: "FieldValueInvalid",
      message: `Invalid value: -${digits}: must be greater than or equal to 0`,
    };
}

function resourceOf(migration: JsonObject): JsonObject {
  return objectAt(objectAt(migration, "spec"), "resource");
}

/** As kubernetes: errors show the internal type of a condition, whose field names are capitalized. */
function shownConditions(status: JsonObject): unknown {
  if (!Array.isArray(status["conditions"])) return null;
  return conditionsOf(status).map((condition) => ({
    Type: stringAt(condition, "type"),
    Status: stringAt(condition, "status"),
    LastUpdateTime: timeOf(condition, "lastUpdateTime"),
    Reason: stringAt(condition, "reason"),
    Message: stringAt(condition, "message"),
  }));
}
