/**
 * The config map extension-apiserver-authentication, in which aggregated API servers and controllers find the CAs by
 * which this cluster authenticates clients and front proxies.
 */
import { clusterTrust, type TrustParts } from "../../access/auth/cluster-trust.ts";
import { objectAt, type JsonObject } from "../../meta/json.ts";
import { ifDifferent, type OwnedObject } from "./owned-object.ts";
import type { Serves } from "./served-version.ts";

const NAME = "extension-apiserver-authentication";

export function clusterAuthentication(serves: Serves, trust: () => TrustParts, nowMs: () => number): OwnedObject[] {
  const at = serves("", "configmaps", "kube-system");
  const data = clusterTrust({}, trust(), nowMs());
  if (at === undefined || data === undefined) return [];
  const { apiVersion, namespace } = at;
  return [
    {
      at,
      object: { apiVersion, kind: "ConfigMap", metadata: { name: NAME, namespace }, data },
      correct(existing) {
        const wanted = clusterTrust(objectAt(existing, "data") as Record<string, string>, trust(), nowMs());
        return wanted === undefined ? undefined : ifDifferent(existing, { data: wanted } satisfies JsonObject);
      },
    },
  ];
}
