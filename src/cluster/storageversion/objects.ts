/** The types and names of StorageVersion objects. */
import type { KubernetesObject, ResourceType } from "../../client/objects.ts";

export const STORAGE_VERSION_TYPE: ResourceType = {
  group: "internal.apiserver.k8s.io",
  version: "v1alpha1",
  resource: "storageversions",
  namespaced: false,
};

export const ALL_ENCODING_VERSIONS_EQUAL = "AllEncodingVersionsEqual";

/** The entry of one server for one resource. Versions are "v1" or "group/v1". */
export interface ServerStorageVersion {
  readonly apiServerID: string;
  readonly encodingVersion: string;
  readonly decodableVersions: readonly string[];
  readonly servedVersions?: readonly string[];
}

export interface StorageVersionCondition {
  readonly type: string;
  readonly status: "True" | "False" | "Unknown";
  readonly observedGeneration?: number;
  readonly lastTransitionTime?: string | null;
  readonly reason: string;
  readonly message: string;
}

export interface StorageVersionStatus {
  readonly storageVersions?: readonly ServerStorageVersion[];
  readonly commonEncodingVersion?: string;
  readonly conditions?: readonly StorageVersionCondition[];
}

export interface StorageVersionObject extends KubernetesObject {
  readonly spec?: Record<string, never>;
  readonly status?: StorageVersionStatus;
}

/** The name of the StorageVersion object of a resource. */
export function storageVersionName(group: string, resource: string): string {
  return `${group === "" ? "core" : group}.${resource}`;
}

/** The resource of a StorageVersion object, from its name: split at the last dot. */
export function storageVersionResource(name: string): { readonly group: string; readonly resource: string } {
  const dot = name.lastIndexOf(".");
  const group = name.slice(0, Math.max(dot, 0));
  return { group: group === "core" ? "" : group, resource: name.slice(dot + 1) };
}
