/** The version and path at which this release serves a resource. */
import type { Catalog } from "../../objects/catalog/catalog.ts";
import { formatGroupVersion } from "../../meta/group-version.ts";

export interface ServedAt {
  readonly group: string;
  readonly version: string;
  readonly resource: string;
  /** Empty for a cluster-scoped resource. */
  readonly namespace: string;
  readonly apiVersion: string;
  /** The path of the list; for a namespaced resource, within the namespace. */
  readonly collection: string;
}

/** The version that the group prefers; undefined if the release does not serve the resource. */
export type Serves = (group: string, resource: string, namespace?: string) => ServedAt | undefined;

export function servedVersions(catalog: Catalog): Serves {
  return (group, resource, namespace = "") => {
    const version = catalog.resource(group, resource)?.versions[0]?.version;
    if (version === undefined) return undefined;
    const apiVersion = formatGroupVersion({ group, version });
    const root = group === "" ? `/api/${version}` : `/apis/${apiVersion}`;
    return {
      group,
      version,
      resource,
      namespace,
      apiVersion,
      collection: namespace === "" ? `${root}/${resource}` : `${root}/namespaces/${namespace}/${resource}`,
    };
  };
}
