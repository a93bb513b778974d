/** Helpers for controllers that keep an object in every namespace. */
import type { KubernetesObject } from "../../../client/objects.ts";
import { StatusError } from "../../../meta/status-error.ts";
import { isAbsent } from "./failures.ts";
import { isNamespaceTerminating, type NamespaceObject } from "./objects.ts";

export function isActive(namespace: NamespaceObject | undefined): boolean {
  return namespace !== undefined && !isNamespaceTerminating(namespace) && namespace.status?.phase === "Active";
}

export function namespaceOf({ metadata }: KubernetesObject): string[] {
  return metadata?.namespace === undefined ? [] : [metadata.namespace];
}

/**
 * Whether a create failed because the namespace is absent or being deleted. In both cases the namespace needs no
 * object.
 */
export function isRejectedByNamespace(thrown: unknown): boolean {
  if (isAbsent(thrown)) return true;
  if (!(thrown instanceof StatusError)) return false;
  return thrown.details?.causes?.some(({ reason }) => reason === "NamespaceTerminating") === true;
}
