/**
 * The endpoints of the kubernetes Service: decides which addresses and port they have, and creates the Endpoints and the
 * EndpointSlice with them.
 */
import { isIPv6 } from "node:net";
import { objectAt, objectsAt, stringAt, type JsonObject } from "../../meta/json.ts";
import { ifDifferent, type OwnedObject } from "./owned-object.ts";
import { PORT_NAME, SERVICE_NAME, SERVICE_NAMESPACE } from "./kubernetes-service.ts";
import type { Serves } from "./served-version.ts";

/** The addresses and the port at which clients reach the servers of the cluster. */
interface ServiceEndpoints {
  /** Sorted IP addresses; empty if no live server can be reached. */
  readonly ips: readonly string[];
  readonly port: number;
}

export interface HostPort {
  readonly host: string;
  readonly port: number;
}

export interface LiveAddresses {
  /** The IP addresses of all masterleases, and that of this server unless it is shutting down. */
  readonly ips: readonly string[];
  /** The address of this server. */
  readonly own: HostPort;
  /** The addresses in the endpoint records of the other servers. */
  readonly peers: readonly HostPort[];
}

/**
 * The endpoints that the Service should have. All servers have one port, because a masterlease holds none. The port of
 * the existing Endpoints is kept if a live server may listen on it; otherwise it becomes the port of this server. So
 * servers with different ports do not overwrite each other.
 */
export function serviceEndpoints(existing: JsonObject | undefined, live: LiveAddresses): ServiceEndpoints {
  const ips = [...new Set(live.ips)].sort();
  const port = existing === undefined ? undefined : portIn(existing);
  return { ips, port: port !== undefined && mayBeUsed(port, live) ? port : live.own.port };
}

/** Undefined unless the Endpoints have exactly one subset with the one port that servers publish. */
function portIn(existing: JsonObject): number | undefined {
  const [subset = {}, ...furtherSubsets] = objectsAt(existing, "subsets");
  const [port = {}, ...furtherPorts] = objectsAt(subset, "ports");
  const isPublished = furtherSubsets.length === 0 && furtherPorts.length === 0 && port["name"] === PORT_NAME;
  return isPublished && typeof port["port"] === "number" ? port["port"] : undefined;
}

/**
 * Whether a live server listens on the port. The port of a server without an endpoint record, such as a kube-apiserver
 * before release 1.36, is unknown, so it may be any.
 */
function mayBeUsed(port: number, { ips, own, peers }: LiveAddresses): boolean {
  const known = [own, ...peers].filter(({ host }) => ips.includes(host));
  return known.some((address) => address.port === port) || ips.some((ip) => !known.some(({ host }) => host === ip));
}

/**
 * The Endpoints and the EndpointSlice with these addresses. Existing objects are corrected; the resource version in the
 * patch makes it fail if another server has changed the object meanwhile.
 */
export function endpointObjects(serves: Serves, wanted: ServiceEndpoints): OwnedObject[] {
  return [...endpoints(serves, wanted), ...endpointSlice(serves, wanted)];
}

function endpoints(serves: Serves, { ips, port }: ServiceEndpoints): OwnedObject[] {
  const at = serves("", "endpoints", SERVICE_NAMESPACE);
  if (at === undefined) return [];
  const ports = [{ name: PORT_NAME, port, protocol: "TCP" }];
  const subsets = ips.length === 0 ? [] : [{ addresses: ips.map((ip) => ({ ip })), ports }];
  // The label keeps the controller that mirrors Endpoints from creating a second EndpointSlice: this server creates one
  // itself.
  const labels = { "endpointslice.kubernetes.io/skip-mirror": "true" };
  return [
    {
      at,
      object: { apiVersion: at.apiVersion, kind: "Endpoints", metadata: { name: SERVICE_NAME, labels }, subsets },
      correct: (existing) =>
        hasAddresses(existing, { ips, port })
          ? correction(existing, { metadata: { labels } })
          : correction(existing, { metadata: { labels }, subsets }),
    },
  ];
}

/** Whether the Endpoints have these addresses, in any order: a kube-apiserver beside this server may order them otherwise. */
function hasAddresses(existing: JsonObject, { ips, port }: ServiceEndpoints): boolean {
  const subsets = objectsAt(existing, "subsets");
  if (ips.length === 0) return subsets.length === 0;
  const [subset = {}] = subsets;
  const existingIps = objectsAt(subset, "addresses").map((address) => stringAt(address, "ip"));
  return portIn(existing) === port && existingIps.length === ips.length && ips.every((ip) => existingIps.includes(ip));
}

function endpointSlice(serves: Serves, { ips, port }: ServiceEndpoints): OwnedObject[] {
  const at = serves("discovery.k8s.io", "endpointslices", SERVICE_NAMESPACE);
  if (at === undefined) return [];
  // As kubernetes: the slice has one address family, IPv4 unless all addresses are IPv6.
  const isSix = ips.length > 0 && ips.every((ip) => isIPv6(ip));
  const addressType = isSix ? "IPv6" : "IPv4";
  const content = {
    metadata: { labels: { "kubernetes.io/service-name": SERVICE_NAME } },
    endpoints: ips.filter((ip) => isIPv6(ip) === isSix).map((ip) => ({ addresses: [ip], conditions: { ready: true } })),
    ports: ips.length === 0 ? [] : [{ name: PORT_NAME, port, protocol: "TCP" }],
  };
  return [
    {
      at,
      object: {
        apiVersion: at.apiVersion,
        kind: "EndpointSlice",
        addressType,
        ...content,
        metadata: { name: SERVICE_NAME, ...content.metadata },
      },
      correct: (existing) => correction(withLists(existing), content),
      isToBeReplaced: (existing) => ips.length > 0 && existing["addressType"] !== addressType,
    },
  ];
}

/** An empty list is stored as null or not at all. */
function withLists(existing: JsonObject): JsonObject {
  return { ...existing, endpoints: existing["endpoints"] ?? [], ports: existing["ports"] ?? [] };
}

function correction(existing: JsonObject, patch: JsonObject): JsonObject | undefined {
  if (ifDifferent(existing, patch) === undefined) return undefined;
  const { resourceVersion } = objectAt(existing, "metadata");
  return { ...patch, metadata: { ...objectAt(patch, "metadata"), resourceVersion } };
}
