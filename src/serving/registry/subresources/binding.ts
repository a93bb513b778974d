/** Assigns a pod to a node, as the scheduler decided. */
import { objectAt, stringAt, type JsonObject } from "../../../meta/json.ts";
import { conflict, notFound, type FieldError } from "../../../meta/status-error.ts";
import type { Entry } from "../../../storage/watch-cache/entry.ts";
import { timestamp, type RegistryContext } from "../context.ts";
import { guaranteedUpdate } from "../guaranteed-update.ts";
import { required, unsupportedValue } from "../../../meta/field-errors.ts";
import { objectKey, type ServedResource } from "../resource.ts";
import { withPodCondition } from "./pod-conditions.ts";
import { failedPrecondition } from "../preconditions.ts";

interface BindRequest {
  readonly namespace: string;
  readonly name: string;
  readonly binding: JsonObject;
  readonly dryRun: boolean;
}

export function podBindingErrors(binding: JsonObject): FieldError[] {
  const target = objectAt(binding, "target");
  const kind = stringAt(target, "kind");
  const errors: FieldError[] = [];
  if (kind !== "" && kind !== "Node") {
    errors.push(unsupportedValue("target.kind", kind, ["Node", "<empty>"]));
  }
  if (stringAt(target, "name") === "") errors.push(required("target.name"));
  return errors;
}

export async function bindPod(context: RegistryContext, pods: ServedResource, request: BindRequest): Promise<void> {
  const { name } = request;
  await guaranteedUpdate(context, pods, {
    key: objectKey(pods.stored, request.namespace, name),
    dryRun: request.dryRun,
    decide: (pod, entry) => {
      rejectOther(pods, { pod, entry, binding: request.binding });
      const why = whyNotBindable(pod);
      if (why !== undefined) throw conflict({ group: "", resource: "pods/binding" }, name, why);
      return { kind: "store", object: bound(pod, request.binding, timestamp(context.clock)) };
    },
    absent: () => {
      throw notFound(pods.groupResource, name);
    },
  });
}

/**
 * Rejects a binding whose uid or resourceVersion differs from that of the pod: the scheduler has decided on another pod
 * or state.
 */
function rejectOther(
  pods: ServedResource,
  { pod, entry, binding }: { pod: JsonObject; entry: Entry; binding: JsonObject },
): void {
  const { uid, resourceVersion } = objectAt(binding, "metadata");
  const found = stringAt(objectAt(pod, "metadata"), "uid");
  const name = stringAt(objectAt(pod, "metadata"), "name");
  if (typeof uid === "string" && uid !== "" && uid !== found)
    throw failedPrecondition(pods, entry, { name, what: "UID", wanted: uid, found });
  const version = String(entry.modRevision);
  if (typeof resourceVersion === "string" && resourceVersion !== "" && resourceVersion !== version) {
    throw failedPrecondition(pods, entry, { name, what: "ResourceVersion", wanted: resourceVersion, found: version });
  }
}

function whyNotBindable(pod: JsonObject): string | undefined {
  const metadata = objectAt(pod, "metadata");
  const spec = objectAt(pod, "spec");
  const name = stringAt(metadata, "name");
  const node = stringAt(spec, "nodeName");
  if (metadata["deletionTimestamp"] !== undefined) return `pod ${name} is being deleted, cannot be assigned to a host`;
  if (node !== "") return `pod ${name} is already assigned to node ${JSON.stringify(node)}`;
  if (Array.isArray(spec["schedulingGates"]) && spec["schedulingGates"].length > 0)
    return `pod ${name} has non-empty .spec.schedulingGates`;
  return undefined;
}

/**
 * Returns the bound pod. Annotations and labels of the binding override those of the pod; nominatedNodeName is removed.
 */
function bound(pod: JsonObject, binding: JsonObject, now: string): JsonObject {
  const given = objectAt(binding, "metadata");
  const before = objectAt(pod, "metadata");
  const { nominatedNodeName: _served, ...status } = objectAt(pod, "status");
  const placed: JsonObject = {
    ...pod,
    metadata: { ...before, ...merged("annotations", before, given), ...merged("labels", before, given) },
    spec: { ...objectAt(pod, "spec"), nodeName: stringAt(objectAt(binding, "target"), "name") },
    status,
  };
  return withPodCondition(placed, { type: "PodScheduled", status: "True" }, now);
}

function merged(field: "annotations" | "labels", before: JsonObject, given: JsonObject): JsonObject {
  const added = objectAt(given, field);
  return Object.keys(added).length === 0 ? {} : { [field]: { ...objectAt(before, field), ...added } };
}
