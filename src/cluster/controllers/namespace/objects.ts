/** The fields of Namespace objects that controllers need. */
import type { KubernetesObject, ResourceType } from "../../../client/objects.ts";

export const NAMESPACE_TYPE: ResourceType = { group: "", version: "v1", resource: "namespaces", namespaced: false };

/** The finalizer that keeps a namespace until its content is deleted. */
export const NAMESPACE_FINALIZER = "kubernetes";

/** The annotation that describes the objects which were purged from the store although no server served them. */
export const PURGED_ANNOTATION = "evenkeel.io/purged";

export interface NamespaceCondition {
  readonly type: string;
  readonly status: string;
  readonly lastTransitionTime?: string;
  readonly reason?: string;
  readonly message?: string;
}

export interface NamespaceObject extends KubernetesObject {
  readonly spec?: { readonly finalizers?: readonly string[] };
  readonly status?: { readonly phase?: string; readonly conditions?: readonly NamespaceCondition[] };
}

export function isNamespaceTerminating({ metadata }: NamespaceObject): boolean {
  return metadata?.deletionTimestamp !== undefined;
}

export function nameOf({ metadata }: KubernetesObject): string {
  return metadata?.name ?? "";
}
