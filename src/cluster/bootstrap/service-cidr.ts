/** The ServiceCIDR of the cluster IPs, if the release has the kind. */
import { specOf, stringsAt } from "../../meta/json.ts";
import type { Serves } from "./served-version.ts";
import type { OwnedObject } from "./owned-object.ts";

/** An existing ServiceCIDR is kept as it is, but gets the second range if the cluster becomes dual-stack. */
export function defaultServiceCidr(serves: Serves, cidrs: readonly string[]): OwnedObject[] {
  const at = serves("networking.k8s.io", "servicecidrs");
  if (at === undefined) return [];
  return [
    {
      at,
      object: {
        apiVersion: at.apiVersion,
        kind: "ServiceCIDR",
        metadata: { name: "kubernetes" },
        spec: { cidrs: [...cidrs] },
      },
      correct(existing) {
        const stored = stringsAt(specOf(existing), "cidrs");
        const isUpgrade = cidrs.length === 2 && stored.length === 1 && stored[0] === cidrs[0];
        return isUpgrade ? { spec: { cidrs } } : undefined;
      },
      condition: { type: "Ready", status: "True", reason: "", message: "Kubernetes default Service CIDR is ready" },
    },
  ];
}
