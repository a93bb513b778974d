/** Validation of a new pod and of its updates. */
import { forbiddenField, invalidValue, required } from "../../../../meta/field-errors.ts";
import {
  annotationsOf,
  jsonEquals,
  numberAt,
  objectAt,
  objectsAt,
  stringAt,
  type JsonObject,
} from "../../../../meta/json.ts";
import type { FieldError } from "../../../../meta/status-error.ts";
import type { KindContext } from "../../kind.ts";
import { unifiedDiff } from "../../internal-version/unified-diff.ts";
import { annotationUpdateErrors, podAnnotationErrors, profileMatchErrors } from "./annotation-rules.ts";
import { imageWhitespaceErrors } from "./container-rules.ts";
import { gatedPodErrors, withGatedChangesUndone } from "./gated-pod-rules.ts";
import { tokenWithoutAccountErrors } from "./projected-rules.ts";
import { tolerationsErrors } from "./scheduling-rules.ts";
import { podSpecErrors } from "./spec-rules.ts";
import { internalValue, isSameInternal } from "../../internal-version/internal-value.ts";
import { goJsonLines } from "../../../../meta/go-json.ts";

const INT32_MAX = 2_147_483_647;
const MAY_NOT_CHANGE =
  "pod updates may not change fields other than `spec.containers[*].image`,`spec.initContainers[*].image`,`spec.activeDeadlineSeconds`,`spec.tolerations` (only additions to existing tolerations),`spec.terminationGracePeriodSeconds` (allow it to be set to 1 if it was previously negative)";

export function* podCreateErrors(pod: JsonObject, context: KindContext): Generator<FieldError> {
  yield* podErrors(pod, context);
  const spec = objectAt(pod, "spec");
  if (objectsAt(spec, "ephemeralContainers").length > 0)
    yield forbiddenField("spec.ephemeralContainers", "cannot be set on create");
  if (stringAt(spec, "nodeName") !== "" && objectsAt(spec, "schedulingGates").length > 0)
    yield forbiddenField("spec.nodeName", "cannot be set until all schedulingGates have been cleared");
  yield* profileMatchErrors(annotationsOf(pod), spec, "spec");
}

/** The checks of every write of a pod; `existing` is absent on a create. */
export function* podErrors(pod: JsonObject, context: KindContext, existing?: JsonObject): Generator<FieldError> {
  const spec = objectAt(pod, "spec");
  yield* podAnnotationErrors(annotationsOf(pod), spec, "metadata.annotations");
  yield* podSpecErrors(spec, "spec", {
    ...context,
    isPod: true,
    metadata: objectAt(pod, "metadata"),
    ...(existing === undefined ? {} : { before: objectAt(existing, "spec") }),
  });
  yield* tokenWithoutAccountErrors(spec, "spec");
  for (const list of ["containers", "initContainers"])
    for (const [index, container] of objectsAt(spec, list).entries())
      yield* imageWhitespaceErrors(container, `spec.${list}[${index}]`);
}

export function* podUpdateErrors(pod: JsonObject, existing: JsonObject, context: KindContext): Generator<FieldError> {
  yield* podErrors(pod, context, existing);
  yield* annotationUpdateErrors(annotationsOf(pod), annotationsOf(existing), "metadata.annotations");
  const next = objectAt(pod, "spec");
  const before = objectAt(existing, "spec");
  for (const list of ["containers", "initContainers"] as const) {
    yield* imageErrors(next, before, list);
    if (objectsAt(next, list).length !== objectsAt(before, list).length) return;
  }
  const deadline = deadlineError(next, before);
  if (deadline !== undefined) {
    yield deadline;
    if (next["activeDeadlineSeconds"] !== undefined) return;
  }
  yield* addedTolerationsErrors(next, before);
  yield* removedGatesErrors(next, before);
  yield* immutableSpecErrors(next, before, context);
}

function* imageErrors(
  next: JsonObject,
  before: JsonObject,
  list: "containers" | "initContainers",
): Generator<FieldError> {
  const containers = objectsAt(next, list);
  if (containers.length !== objectsAt(before, list).length) {
    yield forbiddenField(`spec.${list}`, "pod updates may not add or remove containers");
    return;
  }
  for (const [index, container] of containers.entries()) {
    if (stringAt(container, "image") === "") yield required(`spec.${list}[${index}].image`);
    yield* imageWhitespaceErrors(container, `spec.${list}[${index}]`);
  }
}

/** Rejects an activeDeadlineSeconds that is out of range, removed or raised. */
function deadlineError(next: JsonObject, before: JsonObject): FieldError | undefined {
  const field = "spec.activeDeadlineSeconds";
  const seconds = numberAt(next, "activeDeadlineSeconds");
  const old = numberAt(before, "activeDeadlineSeconds");
  if (seconds === undefined)
    return old === undefined
      ? undefined
      : invalidValue(field, null, "must not update from a positive integer to nil value");
  if (seconds < 0 || seconds > INT32_MAX)
    return invalidValue(field, seconds, `must be between 0 and ${INT32_MAX}, inclusive`);
  return old !== undefined && old < seconds
    ? invalidValue(field, seconds, "must be less than or equal to previous value")
    : undefined;
}

function* addedTolerationsErrors(next: JsonObject, before: JsonObject): Generator<FieldError> {
  const tolerations = objectsAt(next, "tolerations");
  const kept = new Set(tolerations.map(withoutSeconds));
  if (objectsAt(before, "tolerations").some((toleration) => !kept.has(withoutSeconds(toleration))))
    yield forbiddenField("spec.tolerations", "existing toleration can not be modified except its tolerationSeconds");
  else yield* tolerationsErrors(tolerations, "spec.tolerations");
}

function withoutSeconds(toleration: JsonObject): string {
  return JSON.stringify(["key", "operator", "value", "effect"].map((member) => stringAt(toleration, member)));
}

function* removedGatesErrors(next: JsonObject, before: JsonObject): Generator<FieldError> {
  const known = new Set(objectsAt(before, "schedulingGates").map((gate) => stringAt(gate, "name")));
  for (const [index, gate] of objectsAt(next, "schedulingGates").entries()) {
    const name = stringAt(gate, "name");
    if (!known.has(name))
      yield forbiddenField(
        `spec.schedulingGates[${index}].name`,
        `only deletion is allowed, but found new scheduling gate '${name}'`,
      );
  }
}

function* immutableSpecErrors(next: JsonObject, before: JsonObject, context: KindContext): Generator<FieldError> {
  if (jsonEquals(next, before)) return;
  let munged = withMutableFieldsOf(next, before);
  if (objectsAt(before, "schedulingGates").length > 0) {
    yield* gatedPodErrors(munged, before, context);
    munged = withGatedChangesUndone(munged, before);
  }
  if (isSameSpec(munged, before, context)) return;
  yield forbiddenField("spec", `${MAY_NOT_CHANGE}\n${specDiff(before, munged, context)}`);
}

/** Whether two specs are equal. An empty list equals an absent one if the gate PodSpecTypesComplete is on. */
function isSameSpec(next: JsonObject, before: JsonObject, context: KindContext): boolean {
  if (jsonEquals(next, before)) return true;
  if (!context.gates.isOn("PodSpecTypesComplete")) return false;
  return isSameInternal(next, before, "PodSpec", context);
}

/**
 * The diff of two specs for the error. DIFFERS: releases before 1.34 get no diff, and the diff of 1.37 uses the types
 * of 1.36.
 */
function specDiff(before: JsonObject, next: JsonObject, context: KindContext): string {
  if (!context.gates.isOn("PodUpdateErrorsWithJSONDiff")) return "";
  return unifiedDiff(
    goJsonLines(internalValue(before, "PodSpec", context)),
    goJsonLines(internalValue(next, "PodSpec", context)),
  );
}

/** The new spec with the stored values of the mutable fields. */
function withMutableFieldsOf(next: JsonObject, before: JsonObject): JsonObject {
  const munged: JsonObject = { ...next };
  for (const list of ["containers", "initContainers"] as const) {
    const old = objectsAt(before, list);
    if (old.length > 0)
      munged[list] = objectsAt(next, list).map((container, index) => ({ ...container, image: old[index]!["image"] }));
  }
  for (const member of ["activeDeadlineSeconds", "schedulingGates", "tolerations"]) munged[member] = before[member];
  const grace = numberAt(before, "terminationGracePeriodSeconds");
  if (grace !== undefined && grace < 0 && munged["terminationGracePeriodSeconds"] === 1)
    munged["terminationGracePeriodSeconds"] = grace;
  return munged;
}
