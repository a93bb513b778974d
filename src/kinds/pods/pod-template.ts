/** The template of pods that workloads carry. */
import { objectAt, type JsonObject } from "../../meta/json.ts";
import type { FieldError } from "../../meta/status-error.ts";
import type { KindContext } from "../kind.ts";
import { setPodSpecDefaults } from "./pod-spec-defaults.ts";

/** `spec` is the workload's: its member `template` gets a spec with defaults. */
export function setPodTemplateDefaults(spec: JsonObject, context: KindContext): void {
  const template = objectAt(spec, "template");
  const podSpec = objectAt(template, "spec");
  setPodSpecDefaults(podSpec, context);
  template["spec"] = podSpec;
  spec["template"] = template;
}

/** Labels, annotations and spec, at `field` such as "spec.template"; what is special about a workload's pods comes after. */
export function* podTemplateErrors(
  _template: JsonObject,
  _field: string,
  _context: KindContext,
): Generator<FieldError> {}
