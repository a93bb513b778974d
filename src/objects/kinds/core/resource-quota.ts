/** Defaults, validation and warnings of ResourceQuotas. */
import { invalidValue, required } from "../../../meta/field-errors.ts";
import { objectAt, stringsAt, type JsonObject } from "../../../meta/json.ts";
import type { FieldError } from "../../../meta/status-error.ts";
import type { Kind } from "../kind.ts";
import { nanosOf } from "../../../meta/quantity.ts";
import { quotaScopeErrors, scopeSelectorErrors } from "./quota-scopes.ts";
import { amountErrors, amountText, quotaResourceNameErrors } from "./resource-amounts.ts";
import { setRoundedResources } from "../defaults.ts";

export const RESOURCE_QUOTA: Kind = {
  setDefaults(quota) {
    const spec: JsonObject = { ...objectAt(quota, "spec") };
    setRoundedResources(spec, "hard");
    quota["spec"] = spec;
    const status: JsonObject = { ...objectAt(quota, "status") };
    setRoundedResources(status, "hard");
    setRoundedResources(status, "used");
    quota["status"] = status;
  },
  prepareCreate(quota) {
    quota["status"] = {};
  },
  createErrors: (quota) => specErrors(objectAt(quota, "spec")),
  *updateErrors(quota, existing) {
    yield* specErrors(objectAt(quota, "spec"));
    const scopes = objectAt(quota, "spec")["scopes"];
    if (!hasSameScopes(quota, existing)) yield invalidValue("spec.scopes", scopes ?? null, "field is immutable");
  },
  *statusUpdateErrors(quota) {
    if (objectAt(quota, "metadata")["resourceVersion"] === undefined) yield required("resourceVersion");
    yield* amountsErrors(objectAt(objectAt(quota, "status"), "hard"), "status.hard");
    yield* amountsErrors(objectAt(objectAt(quota, "status"), "used"), "status.used");
  },
  *warnings(quota, existing) {
    if (existing === undefined) yield* inversionWarnings(objectAt(objectAt(quota, "spec"), "hard"));
  },
};

function* specErrors(spec: JsonObject): Generator<FieldError> {
  yield* amountsErrors(objectAt(spec, "hard"), "spec.hard");
  yield* quotaScopeErrors(spec);
  yield* scopeSelectorErrors(spec);
}

function* amountsErrors(list: JsonObject, field: string): Generator<FieldError> {
  for (const name of Object.keys(list).sort()) {
    yield* quotaResourceNameErrors(name, `${field}[${name}]`);
    yield* amountErrors(name, list[name], `${field}[${name}]`);
  }
}

function hasSameScopes(quota: JsonObject, existing: JsonObject): boolean {
  const scopes = new Set(stringsAt(objectAt(quota, "spec"), "scopes"));
  const before = new Set(stringsAt(objectAt(existing, "spec"), "scopes"));
  return scopes.size === before.size && [...scopes].every((scope) => before.has(scope));
}

/** Warns about requests that exceed the limits, because the excess can never be used. */
function* inversionWarnings(hard: JsonObject): Generator<string> {
  for (const name of ["cpu", "memory", "storage", "ephemeral-storage"]) {
    const isBareKnown = name === "cpu" || name === "memory";
    const names = isBareKnown ? [`requests.${name}`, name] : [`requests.${name}`];
    const requests = names.find((candidate) => hard[candidate] !== undefined);
    const limits = `limits.${name}`;
    if (requests === undefined || hard[limits] === undefined || nanosOf(hard[requests]) <= nanosOf(hard[limits]))
      continue;
    yield `ResourceQuota ${requests} (${amountText(hard[requests])}) should be less than ${limits} (${amountText(hard[limits])})`;
  }
}
