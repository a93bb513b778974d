/** The template of pods that workloads carry. */
import { forbiddenField } from "../../../meta/field-errors.ts";
import { objectAt, objectsAt, type JsonObject } from "../../../meta/json.ts";
import type { FieldError } from "../../../meta/status-error.ts";
import { labelsErrors } from "../checks.ts";
import type { KindContext } from "../kind.ts";
import { setPodSpecDefaults } from "./pod-spec-defaults.ts";
import { annotationsErrors, podAnnotationErrors, profileMatchErrors } from "./rules/annotation-rules.ts";
import { podSpecErrors } from "./rules/spec-rules.ts";

/** `spec` is the workload's: its member `template` gets a spec with defaults. */
export function setPodTemplateDefaults(spec: JsonObject, context: KindContext): void {
  const template = objectAt(spec, "template");
  const podSpec = objectAt(template, "spec");
  setPodSpecDefaults(podSpec, context);
  template["metadata"] ??= {};
  template["spec"] = podSpec;
  spec["template"] = template;
}

/** Labels, annotations and spec, at `field` such as "spec.template"; what is special about a workload's pods comes after. */
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
