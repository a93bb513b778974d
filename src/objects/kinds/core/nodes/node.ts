/** Defaults, validation and warnings of Nodes. */
import { objectAt, stringAt, stringsAt, type JsonObject } from "../../../../meta/json.ts";
import type { Kind } from "../../kind.ts";
import { cidrWarnings } from "../../network/ip-checks.ts";
import { setRoundedResources } from "../../defaults.ts";
import { nodeErrors, nodeUpdateErrors } from "./node-rules.ts";

export const NODE: Kind = {
  setDefaults(node) {
    node["spec"] = specWithDefaults(objectAt(node, "spec"));
    node["status"] = statusWithDefaults(objectAt(node, "status"));
  },
  prepareCreate(node) {
    const { configSource: _removed, ...spec } = objectAt(node, "spec");
    node["spec"] = spec;
    const { config: _config, ...status } = objectAt(node, "status");
    node["status"] = statusWithDefaults(status);
  },
  prepareUpdate(node, existing) {
    const { configSource: given, ...spec } = objectAt(node, "spec");
    const isInUse = objectAt(existing, "spec")["configSource"] !== undefined;
    node["spec"] = isInUse && given !== undefined ? { ...spec, configSource: given } : spec;
  },
  prepareStatusUpdate(node, existing) {
    const { config: given, ...status } = objectAt(node, "status");
    const isInUse = objectAt(existing, "status")["config"] !== undefined;
    node["status"] = isInUse && given !== undefined ? { ...status, config: given } : status;
  },
  createErrors: nodeErrors,
  *updateErrors(node, existing, context) {
    yield* nodeErrors(node, context);
    yield* nodeUpdateErrors(node, existing);
  },
  statusUpdateErrors: nodeUpdateErrors,
  warnings: nodeWarnings,
};

/** podCIDR is the first of podCIDRs; if they differ, podCIDR replaces the list. */
function specWithDefaults(given: JsonObject): JsonObject {
  const { podCIDR, podCIDRs, ...spec } = given;
  const single = typeof podCIDR === "string" ? podCIDR : "";
  const listed = Array.isArray(podCIDRs) ? podCIDRs : [];
  const all = single !== "" && single !== listed[0] ? [single] : listed;
  return all.length === 0 ? spec : { ...spec, podCIDR: all[0], podCIDRs: all };
}

/** The fields of nodeInfo that Go always writes. */
const EMPTY_NODE_INFO: Readonly<JsonObject> = {
  machineID: "",
  systemUUID: "",
  bootID: "",
  kernelVersion: "",
  osImage: "",
  containerRuntimeVersion: "",
  kubeletVersion: "",
  kubeProxyVersion: "",
  operatingSystem: "",
  architecture: "",
};

/** An absent allocatable defaults to the capacity. */
function statusWithDefaults(given: JsonObject): JsonObject {
  const status: JsonObject = { ...given };
  if (status["allocatable"] === undefined && status["capacity"] !== undefined)
    status["allocatable"] = { ...objectAt(status, "capacity") };
  setRoundedResources(status, "capacity");
  setRoundedResources(status, "allocatable");
  const endpoints = objectAt(status, "daemonEndpoints");
  status["daemonEndpoints"] = { ...endpoints, kubeletEndpoint: { Port: 0, ...objectAt(endpoints, "kubeletEndpoint") } };
  status["nodeInfo"] = { ...EMPTY_NODE_INFO, ...objectAt(status, "nodeInfo") };
  return status;
}

function* nodeWarnings(node: JsonObject): Generator<string> {
  const spec = objectAt(node, "spec");
  if (spec["configSource"] !== undefined) yield "spec.configSource: the feature is removed";
  if (stringAt(spec, "externalID") !== "")
    yield "spec.externalID: this field is deprecated, and is unused by Kubernetes";
  for (const [index, cidr] of stringsAt(spec, "podCIDRs").entries())
    yield* cidrWarnings(cidr, `spec.podCIDRs[${index}]`);
}
