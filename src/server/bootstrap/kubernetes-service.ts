/** How pods find this server: the Service `kubernetes` in the namespace default, and what stands behind it. */
import { isIPv6 } from "node:net";
import type { JsonObject } from "../../meta/json.ts";
import { ifDifferent, type OwnedObject } from "./owned-object.ts";
import type { Serves } from "./served-version.ts";

export interface ReachableAt {
  readonly clusterIp: string;
  /** Undefined when there is no address that other machines could use. */
  readonly address: string | undefined;
  readonly port: number;
}

const NAME = "kubernetes";

/** Objects that say something else than where the server is now are corrected. */
export function kubernetesService(serves: Serves, at: ReachableAt): OwnedObject[] {
  const { address, port, clusterIp } = at;
  const service: JsonObject = {
    ports: [{ name: "https", port: 443, protocol: "TCP", targetPort: port }],
    type: "ClusterIP",
  };
  const objects: OwnedObject[] = [
    {
      collection: "/api/v1/namespaces/default/services",
      object: {
        apiVersion: "v1",
        kind: "Service",
        metadata: { name: NAME, labels: { component: "apiserver", provider: "kubernetes" } },
        spec: { ...service, clusterIP: clusterIp, ipFamilyPolicy: "SingleStack", sessionAffinity: "None" },
      },
      correct: (existing) => ifDifferent(existing, { spec: service }),
    },
  ];
  return address === undefined
    ? objects
    : [...objects, endpoints({ address, port }), ...endpointSlice(serves, { address, port })];
}

function endpoints({ address, port }: { address: string; port: number }): OwnedObject {
  const subsets = [{ addresses: [{ ip: address }], ports: [{ name: "https", port, protocol: "TCP" }] }];
  return {
    collection: "/api/v1/namespaces/default/endpoints",
    // The slice is made here too: a controller that mirrors Endpoints must not make another.
    object: {
      apiVersion: "v1",
      kind: "Endpoints",
      metadata: { name: NAME, labels: { "endpointslice.kubernetes.io/skip-mirror": "true" } },
      subsets,
    },
    correct: (existing) => ifDifferent(existing, { subsets }),
  };
}

function endpointSlice(serves: Serves, { address, port }: { address: string; port: number }): OwnedObject[] {
  const at = serves("discovery.k8s.io", "endpointslices", "default");
  if (at === undefined) return [];
  const what = {
    endpoints: [{ addresses: [address], conditions: { ready: true } }],
    ports: [{ name: "https", port, protocol: "TCP" }],
  };
  return [
    {
      collection: at.collection,
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
