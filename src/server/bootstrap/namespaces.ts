/** The namespaces without which nothing else has a place. */
import type { OwnedObject } from "./owned-object.ts";

const SYSTEM_NAMESPACES: readonly string[] = ["default", "kube-system", "kube-public", "kube-node-lease"];

export function systemNamespaces(): OwnedObject[] {
  return SYSTEM_NAMESPACES.map((name) => ({
    collection: "/api/v1/namespaces",
    object: { apiVersion: "v1", kind: "Namespace", metadata: { name } },
  }));
}
