/** The Service `kubernetes` in the namespace default, by which pods find this server, and its endpoints. */
import { isIPv6 } from "node:net";
import type { JsonObject } from "../../meta/json.ts";
import { ifDifferent, type OwnedObject } from "./owned-object.ts";
import type { Serves } from "./served-version.ts";

interface ReachableAt {
  readonly clusterIp: string;
  /** Undefined if the server has no address that other machines can reach. */
  readonly address: string | undefined;
  readonly port: number;
}

const NAME = "kubernetes";
const NAMESPACE = "default";

/**
 * The Service and its endpoints. Existing endpoints with another address, and objects with another port, are corrected.
 */
export function kubernetesService(serves: Serves, { address, port, clusterIp }: ReachableAt): OwnedObject[] {
  if (address === undefined) return service(serves, { clusterIp, port });
  return [
    ...service(serves, { clusterIp, port }),
    ...endpoints(serves, { address, port }),
    ...endpointSlice(serves, { address, port }),
  ];
}

function service(serves: Serves, { clusterIp, port }: { clusterIp: string; port: number }): OwnedObject[] {
  const at = serves("", "services", NAMESPACE);
  if (at === undefined) return [];
  const spec: JsonObject = {
    ports: [{ name: "https", port: 443, protocol: "TCP", targetPort: port }],
    type: "ClusterIP",
  };
  return [
    {
      at,
      object: {
        apiVersion: at.apiVersion,
        kind: "Service",
        metadata: { name: NAME, labels: { component: "apiserver", provider: "kubernetes" } },
        spec: { ...spec, clusterIP: clusterIp, ipFamilyPolicy: "SingleStack", sessionAffinity: "None" },
      },
      correct: (existing) => ifDifferent(existing, { spec }),
    },
  ];
}

function endpoints(serves: Serves, { address, port }: { address: string; port: number }): OwnedObject[] {
  const at = serves("", "endpoints", NAMESPACE);
  if (at === undefined) return [];
  const subsets = [{ addresses: [{ ip: address }], ports: [{ name: "https", port, protocol: "TCP" }] }];
  return [
    {
      at,
      // The label keeps the controller that mirrors Endpoints from creating a second EndpointSlice: this server creates
      // one itself.
      object: {
        apiVersion: at.apiVersion,
        kind: "Endpoints",
        metadata: { name: NAME, labels: { "endpointslice.kubernetes.io/skip-mirror": "true" } },
        subsets,
      },
      correct: (existing) => ifDifferent(existing, { subsets }),
    },
  ];
}

function endpointSlice(serves: Serves, { address, port }: { address: string; port: number }): OwnedObject[] {
  const at = serves("discovery.k8s.io", "endpointslices", NAMESPACE);
  if (at === undefined) return [];
  const what = {
    endpoints: [{ addresses: [address], conditions: { ready: true } }],
    ports: [{ name: "https", port, protocol: "TCP" }],
  };
  return [
    {
      at,
      object: {
        apiVersion: at.apiVersion,
        kind: "EndpointSlice",
        metadata: { name: NAME, labels: { "kubernetes.io/service-name": NAME } },
        addressType: isIPv6(address) ? "IPv6" : "IPv4",
        ...what,
      },
      correct: (existing) => ifDifferent(existing, what),
    },
  ];
}
