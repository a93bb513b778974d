/**
 * Assumes the release of a kube-apiserver that does not let this server read its version, from the resources that it
 * serves. The result is exact enough to decide in which records the kube-apiserver allocates cluster IPs.
 */
import type { ServedSet } from "./served-set.ts";

export function assumedRelease(served: ServedSet): string {
  const has = (group: string, version: string, resource: string): boolean =>
    served.has({ group, version, resource, subresource: "" });
  if (!has("networking.k8s.io", "v1", "ipaddresses")) return "1.32";
  return has("resource.k8s.io", "v1", "deviceclasses") ? "1.34" : "1.33";
}
