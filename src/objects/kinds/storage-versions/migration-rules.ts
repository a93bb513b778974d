/** Validation of StorageVersionMigrations from v1beta1 on, with Kubernetes' messages. */
import { jsonEquals, objectAt, stringAt, type JsonObject } from "../../../meta/json.ts";
import { dns1035LabelErrors, dnsSubdomainErrors } from "../../../meta/names.ts";
import type { FieldError } from "../../../meta/status-error.ts";
import { firstErrors, invalidValue, required } from "../../../meta/field-errors.ts";
import { conditionErrors, conditionsOf, isTrue, timeOf } from "./conditions.ts";

const RESOURCE_VERSION = /^[1-9][0-9]*$/;

export function migrationErrors(migration: JsonObject): FieldError[] {
  const { group, resource } = migratedResource(migration);
  const errors: FieldError[] = [];
  const resourceField = "spec.resource.resource";
  const resourceErrors = dns1035LabelErrors(resource);
  if (resource === "") errors.push(required(resourceField, "resource is required to be set"));
  else if (resourceErrors.length > 0) errors.push(invalidValue(resourceField, resource, resourceErrors.join(",")));
  const groupErrors = group === "" ? [] : dnsSubdomainErrors(group);
  if (groupErrors.length > 0) errors.push(invalidValue("spec.resource.group", group, groupErrors.join(",")));
  return errors;
}

export function migrationUpdateErrors(migration: JsonObject, existing: JsonObject): FieldError[] {
  const resource = migratedResource(migration);
  const errors = migrationErrors(migration);
  // As kubernetes: the error shows the internal type of the spec, in which this field is capitalized.
  if (!jsonEquals(resource, migratedResource(existing)))
    errors.push(invalidValue("spec", { Resource: resource }, "field is immutable"));
  return errors;
}

export function migrationStatusErrors(migration: JsonObject, existing: JsonObject): FieldError[] {
  return firstErrors(statusErrors(objectAt(migration, "status"), objectAt(existing, "status")));
}

function* statusErrors(status: JsonObject, before: JsonObject): Generator<FieldError> {
  const version = stringAt(status, "resourceVersion");
  if (version !== "" && !RESOURCE_VERSION.test(version))
    yield invalidValue("status.resourceVersion", version, `resource version is not well formed: ${version}`);
  yield* conditionErrors(conditionsOf(status), "lastTransitionTime");
  yield* checkpointErrors(status, before);
  const shown = shownConditions(status);
  yield* contradictionErrors(status, shown);
  yield* reversalErrors(status, before, shown);
}

/** The resource version of a migration is immutable once it is set. */
export function* checkpointErrors(status: JsonObject, before: JsonObject): Generator<FieldError> {
  const known = stringAt(before, "resourceVersion");
  const version = stringAt(status, "resourceVersion");
  if (known !== "" && known !== version) yield invalidValue("status.resourceVersion", version, "field is immutable");
}

/** A migration cannot both succeed and fail. `shown`: the conditions as an error shows them. */
export function* contradictionErrors(status: JsonObject, shown: unknown): Generator<FieldError> {
  const conditions = conditionsOf(status);
  if (isTrue(conditions, "Succeeded") && isTrue(conditions, "Failed"))
    yield invalidValue(
      "status.conditions",
      shown,
      "Both success and failed conditions cannot be true at the same time",
    );
}

/** Rejects a status in which a migration that had ended has not ended any more. */
export function* reversalErrors(status: JsonObject, before: JsonObject, shown: unknown): Generator<FieldError> {
  const conditions = conditionsOf(status);
  const known = conditionsOf(before);
  if (isTrue(known, "Succeeded") && !isTrue(conditions, "Succeeded"))
    yield invalidValue("status.conditions", shown, "Success condition cannot be set to false once it is true");
  if (isTrue(known, "Failed") && !isTrue(conditions, "Failed"))
    yield invalidValue("status.conditions", shown, "Failed condition cannot be set to false once it is true");
}

function migratedResource(migration: JsonObject): { readonly group: string; readonly resource: string } {
  const resource = objectAt(objectAt(migration, "spec"), "resource");
  return { group: stringAt(resource, "group"), resource: stringAt(resource, "resource") };
}

function shownConditions(status: JsonObject): unknown {
  if (!Array.isArray(status["conditions"])) return null;
  return conditionsOf(status).map((condition) => {
    const { observedGeneration = 0 } = condition;
    return {
      type: stringAt(condition, "type"),
      status: stringAt(condition, "status"),
      ...(observedGeneration === 0 ? {} : { observedGeneration }),
      lastTransitionTime: timeOf(condition, "lastTransitionTime"),
      reason: stringAt(condition, "reason"),
      message: stringAt(condition, "message"),
    };
  });
}
