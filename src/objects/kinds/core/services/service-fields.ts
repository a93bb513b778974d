/** Accessors for the addresses and ports of a Service, which validation, defaults and allocation share. */
import { objectsAt, specOf, stringAt, stringsAt, type JsonObject } from "../../../../meta/json.ts";
import type { GroupResource } from "../../../../meta/group-version.ts";
import { countAt } from "../../checks.ts";

export const HEADLESS = "None";

/** In alphabetical order, as in errors. */
export const PROTOCOLS: readonly string[] = ["SCTP", "TCP", "UDP"];

export function isServices({ group, resource }: GroupResource): boolean {
  return group === "" && resource === "services";
}

export function needsClusterIp(spec: JsonObject): boolean {
  return stringAt(spec, "type") !== "ExternalName";
}

export function isHeadless(spec: JsonObject): boolean {
  return stringAt(spec, "clusterIP") === HEADLESS || stringsAt(spec, "clusterIPs")[0] === HEADLESS;
}

export function needsNodePorts(spec: JsonObject): boolean {
  const type = stringAt(spec, "type");
  return type === "NodePort" || type === "LoadBalancer";
}

/** Whether the service gets node ports: a load balancer may opt out of them. */
export function allocatesNodePorts(spec: JsonObject): boolean {
  const type = stringAt(spec, "type");
  return type === "NodePort" || (type === "LoadBalancer" && spec["allocateLoadBalancerNodePorts"] !== false);
}

export function needsHealthCheckPort(spec: JsonObject): boolean {
  return stringAt(spec, "type") === "LoadBalancer" && stringAt(spec, "externalTrafficPolicy") === "Local";
}

export function isExternallyAccessible(spec: JsonObject): boolean {
  return needsNodePorts(spec) || (stringAt(spec, "type") === "ClusterIP" && stringsAt(spec, "externalIPs").length > 0);
}

export function portsOf(spec: JsonObject): JsonObject[] {
  return objectsAt(spec, "ports");
}

export interface AllocatedValues {
  readonly ips: readonly string[];
  readonly ports: readonly number[];
}

/** The addresses and ports that the stored service occupies. */
export function allocatedValuesOf(service: JsonObject): AllocatedValues {
  const spec = specOf(service);
  const listed = stringsAt(spec, "clusterIPs");
  const clusterIp = stringAt(spec, "clusterIP");
  const ips = (listed.length > 0 ? listed : [clusterIp]).filter((ip) => ip !== "" && ip !== HEADLESS);
  const ports = portsOf(spec).map((port) => countAt(port, "nodePort"));
  const healthCheck = countAt(spec, "healthCheckNodePort");
  return {
    ips: needsClusterIp(spec) ? ips : [],
    ports: needsNodePorts(spec) ? [...new Set([...ports, healthCheck])].filter((port) => port > 0) : [],
  };
}
