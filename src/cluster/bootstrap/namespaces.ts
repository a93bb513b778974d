/** The namespaces that every cluster starts with. */
import type { OwnedObject } from "./owned-object.ts";
import type { Serves } from "./served-version.ts";

const SYSTEM_NAMESPACES: readonly string[] = ["default", "kube-system", "kube-public", "kube-node-lease"];

export function systemNamespaces(serves: Serves): OwnedObject[] {
  const at = serves("", "namespaces");
  if (at === undefined) return [];
  return SYSTEM_NAMESPACES.map((name) => ({
    at,
    object: { apiVersion: at.apiVersion, kind: "Namespace", metadata: { name } },
  }));
}
