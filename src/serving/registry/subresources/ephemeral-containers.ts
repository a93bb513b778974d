/** Adds ephemeral containers, for debugging, to a running pod. They cannot be changed or removed. */
import type { KindContext } from "../../../objects/kinds/kind.ts";
import { setPodDefaults } from "../../../objects/kinds/pods/pod-defaults.ts";
import { ephemeralUpdateErrors } from "../../../objects/kinds/pods/rules/ephemeral-update-rules.ts";
import { firstErrors } from "../../../meta/field-errors.ts";
import { cloneJson, objectAt, type JsonObject, objectsAt } from "../../../meta/json.ts";
import type { SubresourceStrategy } from "./partial-update.ts";

export const EPHEMERAL_CONTAINERS_STRATEGY: SubresourceStrategy = {
  subresource: "ephemeralcontainers",
  isTimed: true,
  pass(requested: JsonObject, existing: JsonObject, context: KindContext) {
    const { ephemeralContainers: _before, ...spec } = objectAt(existing, "spec");
    const { ephemeralContainers } = objectAt(requested, "spec");
    return withPodDefaults(
      { ...existing, spec: ephemeralContainers === undefined ? spec : { ...spec, ephemeralContainers } },
      context,
    );
  },
  errors(pod: JsonObject, existing: JsonObject, context: KindContext) {
    return firstErrors(ephemeralUpdateErrors(pod, existing, context));
  },
};

/** Adds defaults to a pod that is written through a subresource strategy. */
export function withPodDefaults(pod: JsonObject, context: KindContext): JsonObject {
  const complete = { ...pod, spec: cloneJson(pod["spec"]) };
  setPodDefaults(complete, context);
  return complete;
}

export function containersAt(
  pod: JsonObject,
  field: "containers" | "initContainers" | "ephemeralContainers",
): JsonObject[] {
  return objectsAt(objectAt(pod, "spec"), field);
}
