/** Defaults of a Service before validation, and the fields that an update keeps or drops. */
import { jsonEquals, objectAt, specOf, stringAt, stringsAt, type JsonObject } from "../../../../meta/json.ts";
import {
  allocatesNodePorts,
  isExternallyAccessible,
  needsClusterIp,
  needsHealthCheckPort,
  needsNodePorts,
  portsOf,
} from "./service-fields.ts";
import { ingressPoints } from "./service-status.ts";
import { countAt } from "../../checks.ts";

/** As kubernetes DefaultClientIPServiceAffinitySeconds. */
const CLIENT_IP_AFFINITY_SECONDS = 10_800;

export function setServiceDefaults(service: JsonObject): void {
  const spec = defaultSpec(specOf(service));
  service["spec"] = spec;
  const status = objectAt(service, "status");
  const balancer = objectAt(status, "loadBalancer");
  const isBalanced = spec["type"] === "LoadBalancer" && Array.isArray(balancer["ingress"]);
  service["status"] = {
    ...status,
    loadBalancer: isBalanced ? { ...balancer, ingress: ingressPoints(service).map(defaultIpMode) } : balancer,
  };
}

/** Sets the ipMode of an address to VIP if it has an IP and no ipMode. */
function defaultIpMode(point: JsonObject): JsonObject {
  return stringAt(point, "ip") !== "" && point["ipMode"] === undefined ? { ...point, ipMode: "VIP" } : point;
}

export function prepareService(service: JsonObject): void {
  const spec: JsonObject = { ...specOf(service) };
  const clusterIp = stringAt(spec, "clusterIP");
  if (clusterIp !== "" && stringsAt(spec, "clusterIPs").length === 0) spec["clusterIPs"] = [clusterIp];
  service["spec"] = withoutNeedlessPolicy(spec);
  service["status"] = { loadBalancer: {} };
}

/** `service` already has its defaults and the stored status. */
export function prepareServiceUpdate(service: JsonObject, existing: JsonObject): void {
  const before = specOf(existing);
  const given = specOf(service);
  const spec: JsonObject = {
    ...given,
    ...(Array.isArray(given["ports"]) ? { ports: portsOf(given).map((port) => ({ ...port })) } : {}),
  };
  keepAllocated(spec, before);
  keepClusterIpsTogether(spec, before);
  dropFieldsOfOldType(spec, before);
  service["spec"] = withoutNeedlessPolicy(spec);
  if (stringAt(spec, "type") !== "LoadBalancer")
    service["status"] = { ...objectAt(service, "status"), loadBalancer: {} };
}

/**
 * Drops internalTrafficPolicy from services of type ExternalName, which have no cluster traffic. Keeps an invalid
 * value, so that validation rejects it.
 */
function withoutNeedlessPolicy(spec: JsonObject): JsonObject {
  const { internalTrafficPolicy: policy, ...rest } = spec;
  return !needsClusterIp(spec) && (policy === "Cluster" || policy === "Local") ? rest : spec;
}

function defaultSpec(given: JsonObject): JsonObject {
  const spec: JsonObject = { ...given };
  spec["type"] = stringAt(spec, "type") || "ClusterIP";
  spec["sessionAffinity"] = stringAt(spec, "sessionAffinity") || "None";
  if (spec["sessionAffinity"] === "None") delete spec["sessionAffinityConfig"];
  if (
    spec["sessionAffinity"] === "ClientIP" &&
    objectAt(objectAt(spec, "sessionAffinityConfig"), "clientIP")["timeoutSeconds"] === undefined
  ) {
    spec["sessionAffinityConfig"] = { clientIP: { timeoutSeconds: CLIENT_IP_AFFINITY_SECONDS } };
  }
  if (Array.isArray(spec["ports"])) spec["ports"] = portsOf(spec).map(defaultPort);
  if (isExternallyAccessible(spec) && stringAt(spec, "externalTrafficPolicy") === "")
    spec["externalTrafficPolicy"] = "Cluster";
  if (needsClusterIp(spec) && typeof spec["internalTrafficPolicy"] !== "string")
    spec["internalTrafficPolicy"] = "Cluster";
  if (spec["type"] === "LoadBalancer" && typeof spec["allocateLoadBalancerNodePorts"] !== "boolean")
    spec["allocateLoadBalancerNodePorts"] = true;
  return spec;
}

function defaultPort(given: JsonObject): JsonObject {
  const { targetPort } = given;
  return {
    ...given,
    protocol: stringAt(given, "protocol") || "TCP",
    targetPort:
      targetPort === undefined || targetPort === null || targetPort === 0 || targetPort === ""
        ? countAt(given, "port")
        : targetPort,
  };
}

/** An update without allocated values, such as a PUT of a manifest, keeps the stored ones. */
function keepAllocated(spec: JsonObject, before: JsonObject): void {
  if (needsClusterIp(before) && needsClusterIp(spec)) {
    if (stringAt(spec, "clusterIP") === "") setOrDelete(spec, "clusterIP", before["clusterIP"]);
    if (stringsAt(spec, "clusterIPs").length === 0 && spec["clusterIP"] === before["clusterIP"])
      setOrDelete(spec, "clusterIPs", before["clusterIPs"]);
  }
  if (allocatesNodePorts(before) && allocatesNodePorts(spec)) keepNodePorts(spec, before);
  if (needsHealthCheckPort(before) && needsHealthCheckPort(spec) && countAt(spec, "healthCheckNodePort") === 0) {
    setOrDelete(spec, "healthCheckNodePort", before["healthCheckNodePort"]);
  }
}

/**
 * Gives a port without a node port that of the stored port with the same name, unless another port requests this node
 * port.
 */
function keepNodePorts(spec: JsonObject, before: JsonObject): void {
  const byName = new Map(portsOf(before).map((port) => [stringAt(port, "name"), countAt(port, "nodePort")]));
  const used = new Set(portsOf(spec).map((port) => countAt(port, "nodePort")));
  for (const port of portsOf(spec)) {
    const kept = byName.get(stringAt(port, "name")) ?? 0;
    if (countAt(port, "nodePort") !== 0 || kept === 0 || used.has(kept)) continue;
    port["nodePort"] = kept;
    used.add(kept);
  }
}

/**
 * Keeps clusterIP equal to the first of clusterIPs: an update that changes only clusterIP replaces clusterIPs too, and
 * an absent clusterIPs gets the clusterIP.
 */
function keepClusterIpsTogether(spec: JsonObject, before: JsonObject): void {
  const clusterIp = stringAt(spec, "clusterIP");
  const listed = stringsAt(spec, "clusterIPs");
  if (clusterIp === stringAt(before, "clusterIP")) {
    if (clusterIp !== "" && listed.length === 0) spec["clusterIPs"] = [clusterIp];
    return;
  }
  if (!jsonEquals(listed, stringsAt(before, "clusterIPs"))) {
    if (listed.length === 0 && clusterIp !== "") spec["clusterIPs"] = [clusterIp];
    return;
  }
  if (clusterIp === "") delete spec["clusterIPs"];
  else spec["clusterIPs"] = [clusterIp];
}

/** Drops the fields that belong to the stored type and not to the new type, if the update leaves them unchanged. */
function dropFieldsOfOldType(spec: JsonObject, before: JsonObject): void {
  if (needsClusterIp(before) && !needsClusterIp(spec)) {
    const isSame = jsonEquals([spec["clusterIP"], spec["clusterIPs"]], [before["clusterIP"], before["clusterIPs"]]);
    if (isSame) for (const field of ["clusterIP", "clusterIPs"]) delete spec[field];
    for (const field of ["ipFamilies", "ipFamilyPolicy"]) dropIfSame(spec, before, field);
  }
  if (needsNodePorts(before) && !needsNodePorts(spec)) dropNodePorts(spec, before);
  if (needsHealthCheckPort(before) && !needsHealthCheckPort(spec)) dropIfSame(spec, before, "healthCheckNodePort");
  if (before["type"] === "LoadBalancer" && spec["type"] !== "LoadBalancer") {
    for (const field of ["allocateLoadBalancerNodePorts", "loadBalancerClass"]) dropIfSame(spec, before, field);
  }
  if (isExternallyAccessible(before) && !isExternallyAccessible(spec))
    dropIfSame(spec, before, "externalTrafficPolicy");
}

function dropNodePorts(spec: JsonObject, before: JsonObject): void {
  const had = new Set(portsOf(before).map((port) => countAt(port, "nodePort")));
  const ports = portsOf(spec);
  if (ports.every((port) => countAt(port, "nodePort") === 0 || had.has(countAt(port, "nodePort"))))
    for (const port of ports) delete port["nodePort"];
}

function dropIfSame(spec: JsonObject, before: JsonObject, field: string): void {
  if (jsonEquals(spec[field], before[field])) delete spec[field];
}

function setOrDelete(target: JsonObject, field: string, value: unknown): void {
  if (value === undefined) delete target[field];
  else target[field] = value;
}
