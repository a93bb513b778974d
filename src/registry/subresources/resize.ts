/** New amounts of cpu and memory for the containers of a pod that keeps running. */
import { isJsonObject, jsonEquals, objectAt, stringAt, type JsonObject } from "../../meta/json.ts";
import type { FieldError } from "../../meta/status-error.ts";
import { forbiddenField, invalidValue } from "../../meta/field-errors.ts";
import type { SubresourceDoor } from "./door-update.ts";
import { containersAt } from "./ephemeral-containers.ts";
import { qosClass } from "../../kinds/pods/qos-class.ts";

const MIRROR_POD = "kubernetes.io/config.mirror";
const CONTAINER_FIELDS = ["containers", "initContainers"] as const;
type ContainerField = (typeof CONTAINER_FIELDS)[number];

export const RESIZE_DOOR: SubresourceDoor = {
  subresource: "resize",
  isTimed: true,
  pass(wish, existing) {
    const spec = { ...objectAt(existing, "spec") };
    for (const field of CONTAINER_FIELDS) {
      const containers = passContainers(containersAt(wish, field), containersAt(existing, field));
      if (containers.length > 0 || spec[field] !== undefined) spec[field] = containers;
    }
    return { ...existing, spec };
  },
  errors(pod, existing) {
    const whole = wholePodError(existing);
    if (whole !== undefined) return [forbiddenField("", whole)];
    const order = CONTAINER_FIELDS.flatMap((field) =>
      orderErrors(field, containersAt(pod, field), containersAt(existing, field)),
    );
    return [
      ...qosErrors(pod, existing),
      ...supportErrors(existing),
      ...(order.length > 0 ? order : resourceErrors(pod, existing)),
    ];
  },
};

/** Containers that are not the same ones in the same order are shown to validation as they are. */
function passContainers(wish: JsonObject[], existing: readonly JsonObject[]): JsonObject[] {
  if (!isSameOrder(wish, existing)) return wish;
  return existing.map((container, index) => {
    const { resources: _before, resizePolicy: _policy, ...rest } = container;
    const { resources, resizePolicy } = wish[index]!;
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

/** DIFFERS: pods with resources of their own are refused in every release, as up to 1.34; newer ones can resize them. */
function wholePodError(pod: JsonObject): string | undefined {
  const spec = objectAt(pod, "spec");
  if (objectAt(objectAt(pod, "metadata"), "annotations")[MIRROR_POD] !== undefined)
    return "static pods cannot be resized";
  const { requests, limits } = objectAt(spec, "resources");
  if ([requests, limits].some((amounts) => isJsonObject(amounts) && Object.keys(amounts).length > 0))
    return "pods with pod-level resources cannot be resized";
  return stringAt(objectAt(spec, "os"), "name") === "windows" ? "windows pods cannot be resized" : undefined;
}

function qosErrors(pod: JsonObject, existing: JsonObject): FieldError[] {
  const stored = stringAt(objectAt(existing, "status"), "qosClass");
  const before = stored === "" ? qosClass(existing) : stored;
  if (before === qosClass(pod)) return [];
  return [invalidValue("spec", stored, "Pod QOS Class may not change as a result of resizing")];
}

/** A node that can resize reports the resources of the containers it runs. */
function supportErrors(existing: JsonObject): FieldError[] {
  const { containerStatuses } = objectAt(existing, "status");
  const statuses = Array.isArray(containerStatuses) ? containerStatuses.filter(isJsonObject) : [];
  const running = statuses.find((status) => isJsonObject(objectAt(status, "state")["running"]));
  if (running === undefined || running["resources"] !== undefined) return [];
  return [forbiddenField("spec", "Pod running on node without support for resize")];
}

function orderErrors(field: ContainerField, next: readonly JsonObject[], before: readonly JsonObject[]): FieldError[] {
  if (next.length !== before.length)
    return [forbiddenField(`spec.${field}`, `${field} may not be added or removed on resize`)];
  return before.flatMap((container, index) => {
    if (container["name"] === next[index]!["name"]) return [];
    return [forbiddenField(`spec.${field}[${index}].name`, `${field} may not be renamed or reordered on resize`)];
  });
}

function resourceErrors(pod: JsonObject, existing: JsonObject): FieldError[] {
  const errors: FieldError[] = [];
  for (const field of CONTAINER_FIELDS.toReversed()) {
    containersAt(existing, field).forEach((before, index) => {
      if (field === "containers" || isSidecar(before))
        errors.push(...removalErrors(`spec.${field}[${index}].resources`, containersAt(pod, field)[index]!, before));
    });
  }
  for (const field of CONTAINER_FIELDS) {
    containersAt(existing, field).forEach((before, index) =>
      errors.push(...mutabilityErrors(field, containersAt(pod, field)[index]!, before)),
    );
  }
  return errors;
}

function isSidecar(container: JsonObject): boolean {
  return container["restartPolicy"] === "Always";
}

function removalErrors(path: string, next: JsonObject, before: JsonObject): FieldError[] {
  return (["requests", "limits"] as const).flatMap((amounts) => {
    const now = objectAt(objectAt(next, "resources"), amounts);
    const isRemoved = Object.keys(objectAt(objectAt(before, "resources"), amounts)).some(
      (name) => !Object.hasOwn(now, name),
    );
    return isRemoved ? [forbiddenField(`${path}.${amounts}`, `resource ${amounts} cannot be removed`)] : [];
  });
}

function mutabilityErrors(field: ContainerField, next: JsonObject, before: JsonObject): FieldError[] {
  if (field === "initContainers" && !isSidecar(before)) {
    return jsonEquals(next, before)
      ? []
      : [forbiddenField("spec", "resources for non-sidecar init containers are immutable")];
  }
  if (jsonEquals(withoutCpuAndMemory(next), withoutCpuAndMemory(before))) return [];
  const what =
    field === "containers"
      ? "only cpu and memory resources are mutable"
      : "only cpu and memory resources for sidecar containers are mutable";
  return [forbiddenField("spec", what)];
}

function withoutCpuAndMemory(container: JsonObject): JsonObject {
  const { resources, ...rest } = container;
  const given = isJsonObject(resources) ? resources : {};
  const others = (["requests", "limits"] as const).map((amounts) => {
    const { cpu: _cpu, memory: _memory, ...kept } = objectAt(given, amounts);
    return kept;
  });
  return { ...rest, others, claims: given["claims"] };
}
