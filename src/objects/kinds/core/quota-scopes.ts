/** Validation of the scopes and scope selectors of ResourceQuotas, with Kubernetes' messages. */
import { invalidValue, required } from "../../../meta/field-errors.ts";
import { isJsonObject, objectAt, objectsAt, stringAt, stringsAt, type JsonObject } from "../../../meta/json.ts";
import type { FieldError } from "../../../meta/status-error.ts";
import { isQuotaResource } from "./resource-amounts.ts";
import { internalValue } from "../internal-version/internal-value.ts";

const POD_COUNT: ReadonlySet<string> = new Set(["pods"]);
const PODS: ReadonlySet<string> = new Set([
  "pods",
  "cpu",
  "memory",
  "limits.cpu",
  "limits.memory",
  "requests.cpu",
  "requests.memory",
]);
const CLAIMS: ReadonlySet<string> = new Set(["persistentvolumeclaims", "requests.storage"]);

/** The resources to which a scope can apply, keyed by scope. */
const SCOPES: ReadonlyMap<string, ReadonlySet<string>> = new Map([
  ["Terminating", PODS],
  ["NotTerminating", PODS],
  ["BestEffort", POD_COUNT],
  ["NotBestEffort", PODS],
  ["PriorityClass", PODS],
  ["CrossNamespacePodAffinity", PODS],
  ["VolumeAttributesClass", CLAIMS],
]);
/** Scopes without values: only the operator Exists is valid. */
const PLAIN_SCOPES: ReadonlySet<string> = new Set([
  "BestEffort",
  "NotBestEffort",
  "Terminating",
  "NotTerminating",
  "CrossNamespacePodAffinity",
]);
const OPPOSITES: readonly (readonly [string, string])[] = [
  ["BestEffort", "NotBestEffort"],
  ["Terminating", "NotTerminating"],
];

const UNSUPPORTED_RESOURCE = "unsupported scope applied to resource";
/**
 * DIFFERS: if a list is longer than this, only its first error is reported; kubernetes repeats the whole list in each
 * error.
 */
const SHOWN_OFTEN_MAX = 100;

export function* quotaScopeErrors(spec: JsonObject): Generator<FieldError> {
  const scopes = stringsAt(spec, "scopes");
  yield* scopes.length > SHOWN_OFTEN_MAX ? scopesErrors(spec, scopes).take(1) : scopesErrors(spec, scopes);
}

function* scopesErrors(spec: JsonObject, scopes: readonly string[]): Generator<FieldError> {
  const field = "spec.scopes";
  const unfit = unsupportedResourceCounts(spec);
  for (const scope of scopes) {
    if (!SCOPES.has(scope)) yield invalidValue(field, scopes, "unsupported scope");
    yield* unsupportedResourceErrors(unfit.get(scope), field, () => scopes);
  }
  yield* conflictErrors(scopes, field, scopes);
}

export function* scopeSelectorErrors(spec: JsonObject): Generator<FieldError> {
  const selector = spec["scopeSelector"];
  if (!isJsonObject(selector)) return;
  const isLong = objectsAt(selector, "matchExpressions").length > SHOWN_OFTEN_MAX;
  yield* isLong ? selectorErrors(spec, selector).take(1) : selectorErrors(spec, selector);
}

function* selectorErrors(spec: JsonObject, selector: JsonObject): Generator<FieldError> {
  const field = "spec.scopeSelector.matchExpressions";
  const requirements = objectsAt(selector, "matchExpressions");
  const unfit = unsupportedResourceCounts(spec);
  for (const requirement of requirements) {
    const scope = stringAt(requirement, "scopeName");
    if (!SCOPES.has(scope)) yield invalidValue(`${field}.scopeName`, scope, "unsupported scope");
    yield* unsupportedResourceErrors(unfit.get(scope), field, () => internalValue(selector, "ScopeSelector"));
    yield* operatorErrors(requirement, field);
  }
  const names = requirements.map((requirement) => stringAt(requirement, "scopeName"));
  // As kubernetes: the error shows the quota's `scopes`, which may be absent.
  yield* conflictErrors(names, field, spec["scopes"] ?? null);
}

/** One error for each unsupported resource. */
function* unsupportedResourceErrors(
  unfit: number | undefined,
  field: string,
  shown: () => unknown,
): Generator<FieldError> {
  for (let count = unfit ?? 0; count > 0; count--) yield invalidValue(field, shown(), UNSUPPORTED_RESOURCE);
}

/** For each scope, the number of the quota's resources to which it cannot apply. */
function unsupportedResourceCounts(spec: JsonObject): ReadonlyMap<string, number> {
  const names = Object.keys(objectAt(spec, "hard")).filter(isQuotaResource);
  return new Map([...SCOPES].map(([scope, about]) => [scope, names.filter((name) => !about.has(name)).length]));
}

function* operatorErrors(requirement: JsonObject, field: string): Generator<FieldError> {
  const operator = stringAt(requirement, "operator");
  const values = stringsAt(requirement, "values");
  if (PLAIN_SCOPES.has(stringAt(requirement, "scopeName")) && operator !== "Exists") {
    const why =
      "must be 'Exists' when scope is any of ResourceQuotaScopeTerminating, ResourceQuotaScopeNotTerminating, ResourceQuotaScopeBestEffort, ResourceQuotaScopeNotBestEffort or ResourceQuotaScopeCrossNamespacePodAffinity";
    yield invalidValue(`${field}.operator`, operator, why);
  }
  if (operator === "In" || operator === "NotIn") {
    if (values.length === 0)
      yield required(
        `${field}.values`,
        "must be at least one value when `operator` is 'In' or 'NotIn' for scope selector",
      );
  } else if (operator === "Exists" || operator === "DoesNotExist") {
    if (values.length > 0) {
      const why = "must be no value when `operator` is 'Exist' or 'DoesNotExist' for scope selector";
      yield invalidValue(`${field}.values`, values, why);
    }
  } else yield invalidValue(`${field}.operator`, operator, "not a valid selector operator");
}

function* conflictErrors(scopes: readonly string[], field: string, shown: unknown): Generator<FieldError> {
  for (const pair of OPPOSITES)
    if (pair.every((scope) => scopes.includes(scope))) yield invalidValue(field, shown, "conflicting scopes");
}
