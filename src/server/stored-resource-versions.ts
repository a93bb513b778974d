/** What a server has to say of its storage: one item per resource as it lies in the store. */
import type { Catalogue, CatalogueResource } from "../catalogue/catalogue.ts";
import { formatGroupVersion } from "../meta/group-version.ts";
import type { StoredResourceVersions } from "../storageversion/encodings.ts";
import { storageVersionName } from "../storageversion/objects.ts";

/** The lease and the namespace it lies in come before anything is published; the rest is the publishing itself. */
const NEEDED_TO_PUBLISH: ReadonlySet<string> = new Set([
  "core.namespaces",
  "coordination.k8s.io.leases",
  "internal.apiserver.k8s.io.storageversions",
]);

/** By group and resource. Resources that share a place in the store are one, named after the first of them. */
export function storedResourceVersions(catalogue: Catalogue): StoredResourceVersions[] {
  const byPlace = new Map<string, CatalogueResource[]>();
  const resources = catalogue.groups
    .flatMap((group) => group.resources)
    .sort((left, right) => compare(left.group, right.group) || compare(left.resource, right.resource));
  for (const resource of resources) {
    const { storagePrefix, storageVersion } = resource;
    if (storagePrefix === undefined || storageVersion === undefined) continue;
    byPlace.set(storagePrefix, [...(byPlace.get(storagePrefix) ?? []), resource]);
  }
  return [...byPlace.values()].map(toVersions);
}

function toVersions(sharing: readonly CatalogueResource[]): StoredResourceVersions {
  const { group, resource, storageVersion, versions } = sharing[0]!;
  const name = storageVersionName(group, resource);
  return {
    group,
    resource,
    name,
    aliases: sharing.map((alias) => ({ group: alias.group, resource: alias.resource })),
    preferred: storageVersion!,
    decodable: [...new Set([storageVersion!, ...sharing.flatMap(({ decodableVersions }) => decodableVersions)])].sort(
      byPreference(sharing),
    ),
    served: versions.map(({ version }) => formatGroupVersion({ group, version })),
    isNeededToPublish: NEEDED_TO_PUBLISH.has(name),
  };
}

/** In the order of the release; what it does not list is its storage version itself. */
function byPreference(sharing: readonly CatalogueResource[]): (left: string, right: string) => number {
  const order = sharing.flatMap(({ decodableVersions }) => decodableVersions);
  const rank = (version: string): number => (order.includes(version) ? order.indexOf(version) : order.length);
  return (left, right) => rank(left) - rank(right);
}

function compare(left: string, right: string): number {
  return left < right ? -1 : left > right ? 1 : 0;
}
