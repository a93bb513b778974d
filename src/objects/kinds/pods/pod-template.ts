/** Defaults and validation of the pod templates of workloads. */
import { forbiddenField } from "../../../meta/field-errors.ts";
import { objectAt, objectsAt, type JsonObject } from "../../../meta/json.ts";
import type { FieldError } from "../../../meta/status-error.ts";
import { labelsErrors } from "../checks.ts";
import type { KindContext } from "../kind.ts";
import { setPodSpecDefaults } from "./pod-spec-defaults.ts";
import { annotationsErrors, podAnnotationErrors, profileMatchErrors } from "./rules/annotation-rules.ts";
import { podSpecErrors } from "./rules/spec-rules.ts";

/** `spec`: the spec of the workload, whose `template` gets defaults. */
export function setPodTemplateDefaults(spec: JsonObject, context: KindContext): void {
  const template = objectAt(spec, "template");
  const podSpec = objectAt(template, "spec");
  setPodSpecDefaults(podSpec, context);
  template["metadata"] ??= {};
  template["spec"] = podSpec;
  spec["template"] = template;
}

/**
 * Validates labels, annotations and spec at `field`, such as "spec.template". The caller adds the checks of its
 * workload.
 */
export function* podTemplateErrors(template: JsonObject, field: string, context: KindContext): Generator<FieldError> {
  const metadata = objectAt(template, "metadata");
  const annotations = objectAt(metadata, "annotations");
  const spec = objectAt(template, "spec");
  yield* labelsErrors(objectAt(metadata, "labels"), `${field}.labels`);
  yield* annotationsErrors(annotations, `${field}.annotations`);
  yield* podAnnotationErrors(annotations, spec, `${field}.annotations`);
  yield* podSpecErrors(spec, `${field}.spec`, { ...context, isPod: false });
  yield* profileMatchErrors(annotations, spec, `${field}.spec`);
  if (objectsAt(spec, "ephemeralContainers").length > 0)
    yield forbiddenField(`${field}.spec.ephemeralContainers`, "ephemeral containers not allowed in pod template");
}
