/** The ServiceCIDR of the cluster IPs, if the release has the kind. */
import type { Serves } from "./served-version.ts";
import type { OwnedObject } from "./owned-object.ts";

export function defaultServiceCidr(serves: Serves, cidr: string): OwnedObject[] {
  const at = serves("networking.k8s.io", "servicecidrs");
  if (at === undefined) return [];
  return [
    {
      at,
      object: {
        apiVersion: at.apiVersion,
        kind: "ServiceCIDR",
        metadata: { name: "kubernetes" },
        spec: { cidrs: [cidr] },
      },
      condition: { type: "Ready", status: "True", reason: "", message: "Kubernetes default Service CIDR is ready" },
    },
  ];
}
