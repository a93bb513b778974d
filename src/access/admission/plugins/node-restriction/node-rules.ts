/** Restricts the writes of a kubelet to its own Node object, and the fields and labels that it may set. */
import { goQuote } from "../../../../meta/go-quote.ts";
import { isJsonObject, jsonEquals, objectAt, type JsonObject } from "../../../../meta/json.ts";
import type { Attributes } from "../../admission.ts";

const RESTRICTED_NAMESPACE = "node-restriction.kubernetes.io";
const KUBELET_LABELS: ReadonlySet<string> = new Set([
  "kubernetes.io/hostname",
  "topology.kubernetes.io/zone",
  "topology.kubernetes.io/region",
  "failure-domain.beta.kubernetes.io/zone",
  "failure-domain.beta.kubernetes.io/region",
  "beta.kubernetes.io/instance-type",
  "node.kubernetes.io/instance-type",
  "kubernetes.io/os",
  "kubernetes.io/arch",
  "beta.kubernetes.io/os",
  "beta.kubernetes.io/arch",
]);
const KUBELET_NAMESPACES: readonly string[] = ["kubelet.kubernetes.io", "node.kubernetes.io"];

/** The reason for rejecting the write; undefined if it is allowed. */
export function nodeDenial(nodeName: string, { name, operation, object, existing }: Attributes): string | undefined {
  const node = `node ${goQuote(nodeName)}`;
  if (name !== nodeName) return `${node} is not allowed to modify node ${goQuote(name)}`;
  if (object === undefined) return undefined;
  const spec = objectAt(object, "spec");
  if (operation !== "CREATE") return updateDenial(node, object, existing ?? {});
  // As kubernetes: the message says "pods" although the object is a Node.
  if (isJsonObject(spec["configSource"])) return `${node} is not allowed to create pods with a non-nil configSource`;
  const labels = forbiddenLabels(labelsOf(object), {});
  return labels === "" ? undefined : `${node} is not allowed to set the following labels: ${labels}`;
}

function updateDenial(node: string, object: JsonObject, existing: JsonObject): string | undefined {
  const spec = objectAt(object, "spec");
  const before = objectAt(existing, "spec");
  if (isJsonObject(spec["configSource"]) && !jsonEquals(spec["configSource"], before["configSource"]))
    return `${node} is not allowed to update configSource to a new non-nil configSource`;
  if (!jsonEquals(spec["taints"] ?? [], before["taints"] ?? [])) return `${node} is not allowed to modify taints`;
  if (!jsonEquals(ownersOf(object), ownersOf(existing))) return `${node} is not allowed to modify ownerReferences`;
  const labels = forbiddenLabels(labelsOf(object), labelsOf(existing));
  // As kubernetes: the message does not name the node.
  return labels === "" ? undefined : `is not allowed to modify labels: ${labels}`;
}

function labelsOf(object: JsonObject): JsonObject {
  return objectAt(objectAt(object, "metadata"), "labels");
}

function ownersOf(object: JsonObject): unknown {
  return objectAt(object, "metadata")["ownerReferences"] ?? [];
}

/** Lists the changed labels that a node must not set, because workloads are scheduled by them. */
function forbiddenLabels(labels: JsonObject, before: JsonObject): string {
  const changed = [...new Set([...Object.keys(labels), ...Object.keys(before)])].filter(
    (key) => !Object.hasOwn(labels, key) || !Object.hasOwn(before, key) || labels[key] !== before[key],
  );
  return changed.filter(isForbidden).sort().join(", ");
}

function isForbidden(label: string): boolean {
  const slash = label.indexOf("/");
  const namespace = slash < 0 ? "" : label.slice(0, slash);
  const isIn = (domain: string): boolean => namespace === domain || namespace.endsWith(`.${domain}`);
  if (isIn(RESTRICTED_NAMESPACE)) return true;
  if (!isIn("kubernetes.io") && !isIn("k8s.io")) return false;
  return !KUBELET_LABELS.has(label) && !KUBELET_NAMESPACES.some(isIn);
}
