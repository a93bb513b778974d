/** Defaults and validation of LimitRanges. */
import { duplicateValue, forbiddenField, invalidValue, required } from "../../../meta/field-errors.ts";
import { objectAt, objectsAt, setMember, stringAt, type JsonObject } from "../../../meta/json.ts";
import { qualifiedNameErrors } from "../../../meta/names.ts";
import type { FieldError } from "../../../meta/status-error.ts";
import type { Kind } from "../kind.ts";
import { amountComparisonErrors } from "./limit-range-amounts.ts";
import { containerResourceNameErrors, resourceNameErrors } from "./resource-amounts.ts";
import { setNullIfEmpty, setRoundedResources } from "../defaults.ts";

export const LIMIT_RANGE: Kind = {
  setDefaults(limitRange) {
    const spec: JsonObject = { ...objectAt(limitRange, "spec") };
    setNullIfEmpty(spec, "limits");
    if (Array.isArray(spec["limits"])) spec["limits"] = objectsAt(spec, "limits").map(withDefaults);
    limitRange["spec"] = spec;
  },
  createErrors: limitRangeErrors,
  updateErrors: limitRangeErrors,
};

const AMOUNTS = ["max", "min", "default", "defaultRequest", "maxLimitRequestRatio"] as const;

function withDefaults(given: JsonObject): JsonObject {
  const limit: JsonObject = { ...given };
  for (const key of AMOUNTS) setRoundedResources(limit, key);
  if (limit["type"] !== "Container") return limit;
  const amounts = filled(objectAt(limit, "default"), objectAt(limit, "max"));
  const requests = filled(filled(objectAt(limit, "defaultRequest"), amounts), objectAt(limit, "min"));
  setUnlessEmpty(limit, "default", amounts);
  setUnlessEmpty(limit, "defaultRequest", requests);
  return limit;
}

/** `own`, completed with the entries of `other` that it lacks. */
function filled(own: JsonObject, other: JsonObject): JsonObject {
  const all: JsonObject = { ...own };
  for (const name of Object.keys(other)) if (!Object.hasOwn(own, name)) setMember(all, name, other[name]);
  return all;
}

function setUnlessEmpty(limit: JsonObject, key: string, amounts: JsonObject): void {
  if (Object.keys(amounts).length > 0) limit[key] = amounts;
  else delete limit[key];
}

function* limitRangeErrors(limitRange: JsonObject): Generator<FieldError> {
  const types = new Set<string>();
  for (const [index, limit] of objectsAt(objectAt(limitRange, "spec"), "limits").entries()) {
    const field = `spec.limits[${index}]`;
    const type = stringAt(limit, "type");
    yield* typeErrors(type, `${field}.type`);
    if (types.has(type)) yield duplicateValue(`${field}.type`, type);
    types.add(type);
    yield* limitErrors(limit, field);
    yield* amountComparisonErrors(limit, field);
  }
}

const STANDARD_TYPES: readonly string[] = ["Pod", "Container", "PersistentVolumeClaim"];

function* typeErrors(type: string, field: string): Generator<FieldError> {
  const sentences = qualifiedNameErrors(type);
  for (const sentence of sentences) yield invalidValue(field, type, sentence);
  if (sentences.length === 0 && !type.includes("/") && !STANDARD_TYPES.includes(type))
    yield invalidValue(field, type, "must be a standard limit type or fully qualified");
}

function* limitErrors(limit: JsonObject, field: string): Generator<FieldError> {
  const isPod = limit["type"] === "Pod";
  yield* namesErrors(limit, "max", field);
  yield* namesErrors(limit, "min", field);
  for (const key of ["default", "defaultRequest"]) {
    if (!isPod) yield* namesErrors(limit, key, field);
    else if (Object.keys(objectAt(limit, key)).length > 0)
      yield forbiddenField(`${field}.${key}`, "may not be specified when `type` is 'Pod'");
  }
  if (limit["type"] === "PersistentVolumeClaim" && !isStorageLimited(limit))
    yield required(`${field}.limits`, "either minimum or maximum storage value is required, but neither was provided");
  yield* namesErrors(limit, "maxLimitRequestRatio", field);
}

function isStorageLimited(limit: JsonObject): boolean {
  return ["min", "max"].some((key) => objectAt(limit, key)["storage"] !== undefined);
}

function* namesErrors(limit: JsonObject, key: string, field: string): Generator<FieldError> {
  const isOfContainers = limit["type"] === "Pod" || limit["type"] === "Container";
  for (const name of Object.keys(objectAt(limit, key)).sort())
    yield* (isOfContainers ? containerResourceNameErrors : resourceNameErrors)(name, `${field}.${key}[${name}]`);
}
