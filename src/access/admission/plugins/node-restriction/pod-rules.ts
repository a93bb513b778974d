/** Restricts the pod requests of a kubelet to pods whose spec.nodeName is its node. */
import { goQuote } from "../../../../meta/go-quote.ts";
import type { GroupResource } from "../../../../meta/group-version.ts";
import { jsonEquals, objectAt, objectsAt, stringAt, type JsonObject } from "../../../../meta/json.ts";
import type { ObjectReader } from "../../../../meta/object-table.ts";
import { notFound } from "../../../../meta/status-error.ts";
import type { Attributes } from "../../admission.ts";
import { neededObjects } from "./api-references.ts";

const PODS: GroupResource = { group: "", resource: "pods" };
const NODES: GroupResource = { group: "", resource: "nodes" };
const MIRROR_ANNOTATION = "kubernetes.io/config.mirror";

/** The pod. If it does not exist, throws a 404 with the singular "pod", as the listers of kubernetes do. */
export async function podOf(reader: ObjectReader, namespace: string, name: string): Promise<JsonObject> {
  const found = reader.get(PODS, namespace, name) ?? (await reader.newest(PODS, namespace, name));
  if (found === undefined) throw notFound({ group: "", resource: "pod" }, name);
  return found;
}

async function nodeObject(reader: ObjectReader, name: string): Promise<JsonObject> {
  const found = reader.get(NODES, "", name) ?? (await reader.newest(NODES, "", name));
  if (found === undefined) throw notFound({ group: "", resource: "node" }, name);
  return found;
}

function isMirror(pod: JsonObject): boolean {
  return Object.hasOwn(objectAt(objectAt(pod, "metadata"), "annotations"), MIRROR_ANNOTATION);
}

export function nodeNameOf(pod: JsonObject): string {
  return stringAt(objectAt(pod, "spec"), "nodeName");
}

export function uidOf(object: JsonObject): string {
  return stringAt(objectAt(object, "metadata"), "uid");
}

/** The reason for rejecting the write; undefined if it is allowed. */
export async function podDenial(
  reader: ObjectReader,
  nodeName: string,
  attributes: Attributes,
): Promise<string | undefined> {
  const { operation, subresource, namespace, name, object, existing } = attributes;
  const node = `node ${goQuote(nodeName)}`;
  if (subresource === "status") {
    if (operation !== "UPDATE") return `unexpected operation ${goQuote(operation)}`;
    return statusDenial(node, nodeName, object ?? {}, existing ?? {});
  }
  if (subresource === "eviction") return evictionDenial(reader, nodeName, attributes);
  if (subresource !== "")
    return `unexpected pod subresource ${goQuote(subresource)}, only 'status' and 'eviction' are allowed`;
  if (operation === "CREATE") return creationDenial(reader, nodeName, object ?? {});
  if (operation !== "DELETE")
    return `unexpected operation ${goQuote(operation)}, ${node} can only create and delete mirror pods`;
  const pod = existing ?? (await podOf(reader, namespace, name));
  return nodeNameOf(pod) === nodeName ? undefined : `${node} can only delete pods with spec.nodeName set to itself`;
}

async function evictionDenial(
  reader: ObjectReader,
  nodeName: string,
  { operation, namespace, name, object = {} }: Attributes,
): Promise<string | undefined> {
  if (operation !== "CREATE") return `unexpected operation ${operation}`;
  const podName = name || stringAt(objectAt(object, "metadata"), "name");
  if (podName === "") return "could not determine pod from request data";
  return nodeNameOf(await podOf(reader, namespace, podName)) === nodeName
    ? undefined
    : `node ${nodeName} can only evict pods with spec.nodeName set to itself`;
}

async function creationDenial(reader: ObjectReader, nodeName: string, pod: JsonObject): Promise<string | undefined> {
  const node = `node ${goQuote(nodeName)}`;
  if (!isMirror(pod))
    return `pod does not have ${goQuote(MIRROR_ANNOTATION)} annotation, ${node} can only create mirror pods`;
  if (nodeNameOf(pod) !== nodeName) return `${node} can only create pods with spec.nodeName set to itself`;
  const owners = objectsAt(objectAt(pod, "metadata"), "ownerReferences");
  if (owners.length > 1) return `${node} can only create pods with a single owner reference set to itself`;
  const owner = owners[0] ?? {};
  if (owner["apiVersion"] !== "v1" || owner["kind"] !== "Node" || owner["name"] !== nodeName)
    return `${node} can only create pods with an owner reference set to itself`;
  if (owner["controller"] !== true)
    return `${node} can only create pods with a controller owner reference set to itself`;
  if (owner["blockOwnerDeletion"] === true) return `${node} must not set blockOwnerDeletion on an owner reference`;
  const [stated, known] = [stringAt(owner, "uid"), uidOf(await nodeObject(reader, nodeName))];
  // As kubernetes: the "expected" UID is the UID in the owner reference.
  if (stated !== known) return `node ${nodeName} UID mismatch: expected ${stated} got ${known}`;
  return neededObjects(objectAt(pod, "spec"), nodeName);
}

function statusDenial(node: string, nodeName: string, pod: JsonObject, existing: JsonObject): string | undefined {
  if (nodeNameOf(existing) !== nodeName)
    return `${node} can only update pod status for pods with spec.nodeName set to itself`;
  const labels = (one: JsonObject): JsonObject => objectAt(objectAt(one, "metadata"), "labels");
  if (!jsonEquals(labels(pod), labels(existing))) return `${node} cannot update labels through pod status`;
  const [status, before] = [objectAt(pod, "status"), objectAt(existing, "status")];
  // As kubernetes: "statues" instead of "statuses".
  if (!jsonEquals(status["resourceClaimStatuses"] ?? [], before["resourceClaimStatuses"] ?? []))
    return `${node} cannot update resource claim statues`;
  return jsonEquals(status["extendedResourceClaimStatus"], before["extendedResourceClaimStatus"])
    ? undefined
    : `${node} cannot update extended resource claim status`;
}
