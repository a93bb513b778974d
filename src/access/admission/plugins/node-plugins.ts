/**
 * Plugins about nodes: TaintNodesByCondition taints new nodes as not ready, and PodTopologyLabels copies topology
 * labels from nodes to pods.
 */
import type { GroupResource } from "../../../meta/group-version.ts";
import { objectAt, objectsAt, stringAt, type JsonObject } from "../../../meta/json.ts";
import type { ObjectReader } from "../../../meta/object-table.ts";
import type { AdmissionPlugin } from "../admission.ts";
import { handlesOnly } from "./handled-writes.ts";

const NODES: GroupResource = { group: "", resource: "nodes" };
const NOT_READY = "node.kubernetes.io/not-ready";
const TOPOLOGY_LABELS: readonly string[] = ["topology.kubernetes.io/zone", "topology.kubernetes.io/region"];

/** Prevents scheduling on a new node until a controller removes the taint because the node is ready. */
export function taintNodesByCondition(): AdmissionPlugin {
  return {
    name: "TaintNodesByCondition",
    handles: handlesOnly({ group: "", resource: "nodes", operations: { CREATE: [""] } }),
    mutate({ object: node }) {
      const spec = objectAt(node, "spec");
      const taints = objectsAt(spec, "taints");
      if (taints.some((taint) => taint["key"] === NOT_READY && taint["effect"] === "NoSchedule")) return undefined;
      return { ...node, spec: { ...spec, taints: [...taints, { key: NOT_READY, effect: "NoSchedule" }] } };
    },
  };
}

/**
 * Handles pods that are created with a node name, and bindings, because the labels of a binding are copied to its pod.
 */
export function podTopologyLabels(reader: ObjectReader): AdmissionPlugin {
  return {
    name: "PodTopologyLabels",
    handles: handlesOnly({ group: "", resource: "pods", operations: { CREATE: ["", "binding"] } }),
    mutate({ object, subresource }) {
      const labels = topologyOf(reader, subresource === "" ? nodeOfPod(object) : nodeOfBinding(object));
      if (Object.keys(labels).length === 0) return undefined;
      const metadata = objectAt(object, "metadata");
      return { ...object, metadata: { ...metadata, labels: { ...objectAt(metadata, "labels"), ...labels } } };
    },
  };
}

function nodeOfPod(pod: JsonObject): string {
  return stringAt(objectAt(pod, "spec"), "nodeName");
}

function nodeOfBinding(binding: JsonObject): string {
  const target = objectAt(binding, "target");
  return stringAt(target, "kind") === "Node" ? stringAt(target, "name") : "";
}

function topologyOf(reader: ObjectReader, nodeName: string): JsonObject {
  const node = nodeName === "" ? undefined : reader.get(NODES, "", nodeName);
  const labels = objectAt(objectAt(node ?? {}, "metadata"), "labels");
  return Object.fromEntries(TOPOLOGY_LABELS.flatMap((key) => (Object.hasOwn(labels, key) ? [[key, labels[key]]] : [])));
}
