/** Lists the resources that a server stores, each with the storage versions that the server publishes. */
import { compareNames } from "../../serving/discovery/order.ts";
import type { Catalog, CatalogResource } from "../../objects/catalog/catalog.ts";
import {
  storageOfRelease,
  storagePlaces,
  type StorageOfRelease,
  type StoragePlace,
} from "../../objects/catalog/storage-places.ts";
import { formatGroupVersion } from "../../meta/group-version.ts";
import type { StoredResourceVersions } from "./encodings.ts";
import { storageVersionName } from "./objects.ts";

/**
 * Resources that are written before anything is published: the identity lease, its namespace, and what publishing
 * itself writes.
 */
const NEEDED_TO_PUBLISH: ReadonlySet<string> = new Set([
  "core.namespaces",
  "coordination.k8s.io.leases",
  "internal.apiserver.k8s.io.storageversions",
]);

/**
 * Sorted by group and resource. Resources that share a storage prefix are one item. Its name does not depend on which
 * of them is served, so that all servers use the same name.
 */
export function storedResourceVersions(catalog: Catalog): StoredResourceVersions[] {
  const stored = catalog.groups.flatMap((group) => group.resources);
  const byPrefix = Map.groupBy(stored, ({ storagePrefix }) => storagePrefix);
  return storagePlaces()
    .flatMap((place) => {
      const storage = storageOfRelease(place, catalog.release.name, catalog.emulation);
      const sharing = byPrefix.get(place.prefix);
      return storage === undefined || sharing === undefined ? [] : [toVersions(place, storage, sharing)];
    })
    .sort((left, right) => compareNames(left.group, right.group) || compareNames(left.resource, right.resource));
}

function toVersions(
  { group, resource }: StoragePlace,
  { storageVersion, decodableVersions }: StorageOfRelease,
  sharing: readonly CatalogResource[],
): StoredResourceVersions {
  const name = storageVersionName(group, resource);
  const own = sharing.filter((alias) => alias.group === group);
  return {
    group,
    resource,
    name,
    preferred: storageVersion,
    aliases: sharing.map((alias) => ({ group: alias.group, resource: alias.resource })),
    decodable: [...new Set([...decodableVersions, storageVersion])],
    served: (own.length === 0 ? sharing : own).flatMap((alias) =>
      alias.versions.map(({ version }) => formatGroupVersion({ group: alias.group, version })),
    ),
    isNeededToPublish: NEEDED_TO_PUBLISH.has(name),
  };
}
