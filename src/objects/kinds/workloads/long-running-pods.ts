/**
 * Validation and warnings for workloads whose pods run until they are deleted: restart policy Always and no deadline.
 */
import { forbiddenField, unsupportedValue } from "../../../meta/field-errors.ts";
import { objectAt, stringAt, type JsonObject } from "../../../meta/json.ts";
import { dnsLabelErrors } from "../../../meta/names.ts";
import type { FieldError } from "../../../meta/status-error.ts";
import type { KindContext } from "../kind.ts";
import { podTemplateWarnings } from "../pods/warnings/pod-warnings.ts";

export function* restartErrors(template: JsonObject, field: string): Generator<FieldError> {
  const policy = stringAt(objectAt(template, "spec"), "restartPolicy");
  if (policy !== "Always") yield unsupportedValue(`${field}.spec.restartPolicy`, policy, ["Always"]);
}

export function* forbiddenDeadlineErrors(template: JsonObject, field: string, kind: string): Generator<FieldError> {
  if (objectAt(template, "spec")["activeDeadlineSeconds"] === undefined) return;
  yield forbiddenField(`${field}.spec.activeDeadlineSeconds`, `activeDeadlineSeconds in ${kind} is not Supported`);
}

/** Warnings about the name and the template; an update with an unchanged generation causes none. */
export function* workloadWarnings(
  object: JsonObject,
  existing: JsonObject | undefined,
  context: KindContext,
): Generator<string> {
  yield* nameWarnings(object, existing);
  yield* templateWarnings(object, existing, context);
}

export function* templateWarnings(
  object: JsonObject,
  existing: JsonObject | undefined,
  context: KindContext,
): Generator<string> {
  const template = objectAt(objectAt(object, "spec"), "template");
  if (existing === undefined || hasNewGeneration(object, existing))
    yield* podTemplateWarnings(template, "spec.template", context);
}

export function hasNewGeneration(object: JsonObject, existing: JsonObject): boolean {
  return objectAt(object, "metadata")["generation"] !== objectAt(existing, "metadata")["generation"];
}

/** Warnings about the names of objects whose pods are named after them. */
export function* nameWarnings(object: JsonObject, existing: JsonObject | undefined): Generator<string> {
  if (existing !== undefined) return;
  const sentences = dnsLabelErrors(stringAt(objectAt(object, "metadata"), "name"));
  if (sentences.length > 0)
    yield `metadata.name: this is used in Pod names and hostnames, which can result in surprising behavior; a DNS label is recommended: [${sentences.join(" ")}]`;
}
