/**
 * Validates and evaluates SubjectAccessReview, LocalSubjectAccessReview and SelfSubjectAccessReview, which report
 * whether a user may perform an action.
 */
import { firstErrors, invalidValue } from "../../../meta/field-errors.ts";
import { isJsonObject, objectAt, setMember, stringAt, stringsAt, type JsonObject } from "../../../meta/json.ts";
import { invalid, StatusError, type FieldError } from "../../../meta/status-error.ts";
import type { RequestUser } from "../../registry/create.ts";
import type { ReviewedAccess, ReviewedDecision } from "./ports.ts";
import { selectorProblems, reviewSelectorErrors } from "./selector-attributes.ts";
import type { ReleaseGates } from "../../../objects/release-gates.ts";

export type AccessReviewKind = "SubjectAccessReview" | "LocalSubjectAccessReview" | "SelfSubjectAccessReview";

/** The review as it is evaluated and returned. A release that does not authorize by selectors drops the selectors. */
export function readable(object: JsonObject, gates: ReleaseGates): JsonObject {
  const spec = objectAt(object, "spec");
  if (gates.isOn("AuthorizeWithSelectors") || !isJsonObject(spec["resourceAttributes"])) return object;
  const { fieldSelector: _fields, labelSelector: _labels, ...resourceAttributes } = spec["resourceAttributes"];
  return { ...object, spec: { ...spec, resourceAttributes } };
}

/** As kubernetes: the error names neither the kind nor the object. */
export function rejectInvalidAccessReview(object: JsonObject, kind: AccessReviewKind): void {
  const errors = firstErrors(accessReviewErrors(object, kind));
  if (errors.length === 0) return;
  const rejection = invalid({ group: "authorization.k8s.io", kind: "" }, "", errors);
  const { kind: _nameless, ...details } = rejection.details ?? {};
  throw new StatusError("Invalid", rejection.message, { details });
}

function* accessReviewErrors(object: JsonObject, kind: AccessReviewKind): Generator<FieldError> {
  const spec = objectAt(object, "spec");
  yield* specErrors(spec, kind);
  yield* metadataErrors(objectAt(object, "metadata"), kind);
  if (kind === "LocalSubjectAccessReview") yield* localErrors(object, spec);
}

function* specErrors(spec: JsonObject, kind: AccessReviewKind): Generator<FieldError> {
  const hasResource = isJsonObject(spec["resourceAttributes"]);
  const hasPath = isJsonObject(spec["nonResourceAttributes"]);
  if (hasResource && hasPath)
    yield invalidValue(
      "spec.nonResourceAttributes",
      shownPath(spec),
      "cannot be specified in combination with resourceAttributes",
    );
  if (!hasResource && !hasPath)
    yield invalidValue(
      "spec.resourceAttributes",
      null,
      "exactly one of nonResourceAttributes or resourceAttributes must be specified",
    );
  if (kind !== "SelfSubjectAccessReview" && stringAt(spec, "user") === "" && stringsAt(spec, "groups").length === 0)
    yield invalidValue("spec.user", "", "at least one of user or group must be specified");
  if (hasResource) yield* reviewSelectorErrors(objectAt(spec, "resourceAttributes"));
}

/** The value as kubernetes prints it: with the field names of its Go struct. */
function shownPath(spec: JsonObject): JsonObject {
  const { path, verb } = pathAttributes(spec);
  return { Path: path, Verb: verb };
}

function pathAttributes(spec: JsonObject): { readonly path: string; readonly verb: string } {
  const attributes = objectAt(spec, "nonResourceAttributes");
  return { path: stringAt(attributes, "path"), verb: stringAt(attributes, "verb") };
}

function* metadataErrors(metadata: JsonObject, kind: AccessReviewKind): Generator<FieldError> {
  const isLocal = kind === "LocalSubjectAccessReview";
  const isEmpty = Object.entries(metadata).every(
    ([name, value]) => isZero(value) || name === "managedFields" || (isLocal && name === "namespace"),
  );
  if (!isEmpty)
    yield invalidValue("metadata", shownMetadata(metadata), `must be empty${isLocal ? " except for namespace" : ""}`);
}

function isZero(value: unknown): boolean {
  if (Array.isArray(value)) return value.length === 0;
  if (isJsonObject(value)) return Object.keys(value).length === 0;
  return value === undefined || value === null || value === "" || value === 0 || value === false;
}

const METADATA_ORDER: readonly string[] = [
  "name",
  "generateName",
  "namespace",
  "resourceVersion",
  "generation",
  "labels",
  "annotations",
  "ownerReferences",
  "finalizers",
  "managedFields",
];

function shownMetadata(metadata: JsonObject): JsonObject {
  const shown = METADATA_ORDER.filter((name) => Object.hasOwn(metadata, name) && !isZero(metadata[name]));
  return Object.fromEntries(shown.map((name) => [name, metadata[name]]));
}

function* localErrors(object: JsonObject, spec: JsonObject): Generator<FieldError> {
  const namespace = stringAt(objectAt(spec, "resourceAttributes"), "namespace");
  if (isJsonObject(spec["resourceAttributes"]) && namespace !== stringAt(objectAt(object, "metadata"), "namespace"))
    yield invalidValue("spec.resourceAttributes.namespace", namespace, "must match metadata.namespace");
  if (isJsonObject(spec["nonResourceAttributes"]))
    yield invalidValue("spec.nonResourceAttributes", shownPath(spec), "disallowed on this kind of request");
}

/** The user whose access the review checks. */
export function reviewedUser(object: JsonObject): RequestUser {
  const spec = objectAt(object, "spec");
  const extra: JsonObject = {};
  const given = objectAt(spec, "extra");
  for (const key of Object.keys(given)) setMember(extra, key, stringsAt(given, key));
  return {
    name: stringAt(spec, "user"),
    uid: stringAt(spec, "uid"),
    groups: stringsAt(spec, "groups"),
    extra: extra as RequestUser["extra"],
  };
}

const NOTHING: ReviewedAccess = {
  isResourceRequest: false,
  verb: "",
  group: "",
  version: "",
  namespace: "",
  resource: "",
  subresource: "",
  name: "",
  path: "",
};

/** The action that the review checks. The review must be valid. */
export function reviewedAccess(object: JsonObject): ReviewedAccess {
  const spec = objectAt(object, "spec");
  if (!isJsonObject(spec["resourceAttributes"])) return { ...NOTHING, ...pathAttributes(spec) };
  const at = (member: string): string => stringAt(objectAt(spec, "resourceAttributes"), member);
  return {
    isResourceRequest: true,
    verb: at("verb"),
    group: at("group"),
    // A review without a version is about all versions.
    version: at("version") || "*",
    namespace: at("namespace"),
    resource: at("resource"),
    subresource: at("subresource"),
    name: at("name"),
    path: "",
  };
}

export function accessStatus(object: JsonObject, { allowed, reason }: ReviewedDecision): JsonObject {
  const problems = selectorProblems(objectAt(objectAt(object, "spec"), "resourceAttributes"));
  return {
    allowed,
    ...(reason === "" ? {} : { reason }),
    ...(problems.length === 0 ? {} : { evaluationError: problems.join("; ") }),
  };
}
