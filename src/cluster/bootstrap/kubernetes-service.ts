/** The Service `kubernetes` in the namespace default, by which pods find the API servers. */
import { objectAt, objectsAt } from "../../meta/json.ts";
import type { OwnedObject } from "./owned-object.ts";
import type { Serves } from "./served-version.ts";

export const SERVICE_NAME = "kubernetes";
export const SERVICE_NAMESPACE = "default";
export const PORT_NAME = "https";

interface ServiceOptions {
  readonly clusterIp: string;
  readonly port: number;
}

/** The Service, as the first server of a cluster creates it. An existing Service is kept as it is. */
export function kubernetesService(serves: Serves, { clusterIp, port }: ServiceOptions): OwnedObject[] {
  const at = serves("", "services", SERVICE_NAMESPACE);
  if (at === undefined) return [];
  return [
    {
      at,
      object: {
        apiVersion: at.apiVersion,
        kind: "Service",
        metadata: { name: SERVICE_NAME, labels: { component: "apiserver", provider: "kubernetes" } },
        spec: {
          ports: [{ name: PORT_NAME, port: 443, protocol: "TCP", targetPort: port }],
          type: "ClusterIP",
          clusterIP: clusterIp,
          ipFamilyPolicy: "SingleStack",
          sessionAffinity: "None",
        },
      },
    },
  ];
}

/** The same Service; an existing one gets this target port and keeps its other fields. */
export function serviceWithTargetPort(serves: Serves, options: ServiceOptions): OwnedObject[] {
  const { port: targetPort } = options;
  return kubernetesService(serves, options).map((owned) => ({
    ...owned,
    correct(existing) {
      const ports = objectsAt(objectAt(existing, "spec"), "ports");
      const isWanted = ports.every((port) => port["name"] !== PORT_NAME || port["targetPort"] === targetPort);
      if (isWanted) return undefined;
      const { resourceVersion } = objectAt(existing, "metadata");
      const changed = ports.map((port) => (port["name"] === PORT_NAME ? { ...port, targetPort } : port));
      return { metadata: { resourceVersion }, spec: { ports: changed } };
    },
  }));
}
