/** Changes the CPU and memory of the containers of a running pod. */
import type { KindContext } from "../../../objects/kinds/kind.ts";
import { qosClass } from "../../../objects/kinds/pods/qos-class.ts";
import { podErrors } from "../../../objects/kinds/pods/rules/pod-rules.ts";
import { firstErrors, forbiddenField, invalidValue } from "../../../meta/field-errors.ts";
import { isJsonObject, jsonEquals, objectAt, objectsAt, stringAt, type JsonObject } from "../../../meta/json.ts";
import type { FieldError } from "../../../meta/status-error.ts";
import type { SubresourceStrategy } from "./partial-update.ts";
import { containersAt, withPodDefaults } from "./ephemeral-containers.ts";

const MIRROR_POD = "kubernetes.io/config.mirror";
const CONTAINER_FIELDS = ["containers", "initContainers"] as const;
type ContainerField = (typeof CONTAINER_FIELDS)[number];

export const RESIZE_STRATEGY: SubresourceStrategy = {
  subresource: "resize",
  isTimed: true,
  pass(requested: JsonObject, existing: JsonObject, context: KindContext) {
    const isSameLength = CONTAINER_FIELDS.every(
      (field) => containersAt(requested, field).length === containersAt(existing, field).length,
    );
    // If the request adds or removes containers, the pod is validated as it was sent, and rejected.
    if (!isSameLength) return withPodDefaults({ ...existing, ...sentParts(requested) }, context);
    const spec = { ...objectAt(existing, "spec") };
    if (context.gates.isOn("InPlacePodLevelResourcesVerticalScaling")) {
      const { resources } = objectAt(requested, "spec");
      if (resources === undefined) delete spec["resources"];
      else spec["resources"] = resources;
    }
    for (const field of CONTAINER_FIELDS) {
      const containers = passContainers(containersAt(requested, field), containersAt(existing, field));
      if (containers.length > 0 || spec[field] !== undefined) spec[field] = containers;
    }
    return withPodDefaults({ ...existing, spec }, context);
  },
  errors(pod: JsonObject, existing: JsonObject, context: KindContext) {
    const whole = wholePodError(existing, context);
    return whole === undefined ? firstErrors(allErrors(pod, existing, context)) : [forbiddenField("", whole)];
  },
};

function sentParts(requested: JsonObject): JsonObject {
  return { spec: objectAt(requested, "spec"), status: objectAt(requested, "status") };
}

/**
 * If the names or the order of the containers differ, returns the containers of the request, which validation then
 * rejects.
 */
function passContainers(requested: JsonObject[], existing: readonly JsonObject[]): JsonObject[] {
  if (!isSameOrder(requested, existing)) return requested;
  return existing.map((container, index) => {
    const { resources: _before, resizePolicy: _policy, ...rest } = container;
    const { resources, resizePolicy } = requested[index] ?? container;
    return {
      ...rest,
      ...(resources === undefined ? {} : { resources }),
      ...(resizePolicy === undefined ? {} : { resizePolicy }),
    };
  });
}

function isSameOrder(next: readonly JsonObject[], before: readonly JsonObject[]): boolean {
  return (
    next.length === before.length && next.every((container, index) => container["name"] === before[index]!["name"])
  );
}

/** The reason why a pod cannot be resized at all. Other errors are reported only if there is none. */
function wholePodError(pod: JsonObject, { gates }: KindContext): string | undefined {
  if (!gates.isOn("PodLevelResourcesResizeValidation") && hasPodResources(pod))
    return "pods with pod-level resources cannot be resized";
  if (objectAt(objectAt(pod, "metadata"), "annotations")[MIRROR_POD] !== undefined)
    return "static pods cannot be resized";
  const os = stringAt(objectAt(objectAt(pod, "spec"), "os"), "name");
  return os === "windows" ? "windows pods cannot be resized" : undefined;
}

function hasPodResources(pod: JsonObject): boolean {
  const { requests, limits } = objectAt(objectAt(pod, "spec"), "resources");
  return [requests, limits].some((amounts) => isJsonObject(amounts) && Object.keys(amounts).length > 0);
}

function* allErrors(pod: JsonObject, existing: JsonObject, context: KindContext): Generator<FieldError> {
  yield* podErrors(pod, context, existing);
  yield* qosErrors(pod, existing, context);
  yield* supportErrors(existing);
  if (hasPodResources(pod) || hasPodResources(existing)) {
    if (!context.gates.isOn("InPlacePodLevelResourcesVerticalScaling")) {
      yield forbiddenField(
        "",
        "resize of pods with pod-level resources is forbidden when InPlacePodLevelResourcesVerticalScalingEnabled feature gate is disabled",
      );
      return;
    }
    yield* podResourcesErrors(pod, existing);
  }
  const order = CONTAINER_FIELDS.flatMap((field) =>
    orderErrors(field, containersAt(pod, field), containersAt(existing, field)),
  );
  yield* order.length > 0 ? order : resourceErrors(pod, existing, context);
}

function* qosErrors(pod: JsonObject, existing: JsonObject, context: KindContext): Generator<FieldError> {
  const stored = stringAt(objectAt(existing, "status"), "qosClass");
  const before = stored === "" ? qosClass(existing, context) : stored;
  if (before !== qosClass(pod, context))
    yield invalidValue(
      "spec",
      stringAt(objectAt(pod, "status"), "qosClass"),
      "Pod QOS Class may not change as a result of resizing",
    );
}

/**
 * Rejects the resize if the node does not support it. A node that supports it reports the resources of running
 * containers in the status.
 */
function* supportErrors(existing: JsonObject): Generator<FieldError> {
  const statuses = objectsAt(objectAt(existing, "status"), "containerStatuses");
  const running = statuses.find((status) => isJsonObject(objectAt(status, "state")["running"]));
  if (running !== undefined && running["resources"] === undefined)
    yield forbiddenField("spec", "Pod running on node without support for resize");
}

function* podResourcesErrors(pod: JsonObject, existing: JsonObject): Generator<FieldError> {
  const next = objectAt(pod, "spec")["resources"];
  const before = objectAt(existing, "spec")["resources"];
  if (isJsonObject(before)) {
    if (!isJsonObject(next)) {
      yield forbiddenField("spec.resources", "pod-level resources cannot be removed");
      return;
    }
    for (const amounts of ["requests", "limits"] as const)
      if (isAnyRemoved(objectAt(next, amounts), objectAt(before, amounts)))
        yield forbiddenField(`spec.resources.${amounts}`, `pod-level resource ${amounts} cannot be removed`);
  }
  if (!jsonEquals(otherAmounts(next), otherAmounts(before)))
    yield forbiddenField("spec", "only cpu and memory resources are mutable at pod-level");
}

function isAnyRemoved(next: JsonObject, before: JsonObject): boolean {
  return Object.keys(before).some((name) => !Object.hasOwn(next, name));
}

function orderErrors(field: ContainerField, next: readonly JsonObject[], before: readonly JsonObject[]): FieldError[] {
  if (next.length !== before.length)
    return [forbiddenField(`spec.${field}`, `${field} may not be added or removed on resize`)];
  return before.flatMap((container, index) => {
    if (container["name"] === next[index]!["name"]) return [];
    return [forbiddenField(`spec.${field}[${index}].name`, `${field} may not be renamed or reordered on resize`)];
  });
}

function* resourceErrors(pod: JsonObject, existing: JsonObject, context: KindContext): Generator<FieldError> {
  for (const field of CONTAINER_FIELDS.toReversed())
    for (const [index, before] of containersAt(existing, field).entries())
      if (field === "containers" || canResize(before, context))
        yield* removalErrors(`spec.${field}[${index}].resources`, containersAt(pod, field)[index] ?? {}, before);
  for (const [index, before] of containersAt(existing, "containers").entries())
    if (!isOnlyResized(containersAt(pod, "containers")[index] ?? {}, before))
      yield forbiddenField("spec", "only cpu and memory resources are mutable");
  for (const [index, before] of containersAt(existing, "initContainers").entries())
    yield* initContainerErrors(containersAt(pod, "initContainers")[index] ?? {}, before, { index, context });
}

function canResize(container: JsonObject, context: KindContext): boolean {
  return isSidecar(container) || context.gates.isOn("InPlacePodVerticalScalingInitContainers");
}

function isSidecar(container: JsonObject): boolean {
  return container["restartPolicy"] === "Always";
}

function* removalErrors(path: string, next: JsonObject, before: JsonObject): Generator<FieldError> {
  for (const amounts of ["requests", "limits"] as const)
    if (isAnyRemoved(objectAt(objectAt(next, "resources"), amounts), objectAt(objectAt(before, "resources"), amounts)))
      yield forbiddenField(`${path}.${amounts}`, `resource ${amounts} cannot be removed`);
}

function* initContainerErrors(
  next: JsonObject,
  before: JsonObject,
  { index, context }: { index: number; context: KindContext },
): Generator<FieldError> {
  const isOfAll = context.gates.isOn("InPlacePodVerticalScalingInitContainers");
  const field = `spec.initContainers[${index}]`;
  if (!canResize(next, context)) {
    if (!jsonEquals(next, before))
      yield forbiddenField("spec", "resources for non-sidecar init containers are immutable");
    return;
  }
  if (!isOnlyResized(next, before))
    yield isOfAll
      ? forbiddenField(field, "only cpu and memory resources for init or sidecar containers are mutable")
      : forbiddenField("spec", "only cpu and memory resources for sidecar containers are mutable");
  const { resizePolicy } = next;
  const isRestarted = Array.isArray(resizePolicy) && resizePolicy.some(isRestartPolicy);
  if (isOfAll && isRestarted && !isSidecar(next) && !jsonEquals(next, before))
    yield forbiddenField(
      field,
      "non-sidecar init containers with a resize policy of RestartContainer cannot be resized",
    );
}

function isRestartPolicy(policy: unknown): boolean {
  return isJsonObject(policy) && policy["restartPolicy"] === "RestartContainer";
}

function isOnlyResized(next: JsonObject, before: JsonObject): boolean {
  const { resources, ...rest } = next;
  const { resources: old, ...others } = before;
  return jsonEquals(rest, others) && jsonEquals(otherAmounts(resources), otherAmounts(old));
}

/** All resources except cpu and memory. */
function otherAmounts(resources: unknown): JsonObject {
  const given = isJsonObject(resources) ? resources : {};
  const others = (["requests", "limits"] as const).map((amounts) => {
    const { cpu: _cpu, memory: _memory, ...kept } = objectAt(given, amounts);
    return kept;
  });
  return { others, claims: given["claims"] };
}
