/** Converts the groups of a catalog to the form of aggregated discovery. */
import type { Catalog, CatalogGroup, CatalogResource, CatalogVersion } from "../../objects/catalog/catalog.ts";
import { storageVersionHash } from "../../objects/catalog/storage-version-hash.ts";
import { parseGroupVersion } from "../../meta/group-version.ts";
import type { DiscoveryGroup, DiscoveryKind, DiscoveryResource, DiscoveryVersion } from "./groups.ts";

/** The groups of a catalog, including the core group, in the order of the release. */
export function localGroups({ groups }: Pick<Catalog, "groups">): DiscoveryGroup[] {
  return groups.map((group) => ({
    name: group.name,
    versions: group.versions.map((version) => localVersion(group, version)),
  }));
}

export function localVersion(group: CatalogGroup, version: string): DiscoveryVersion {
  const resources = group.resources.flatMap((resource) => {
    const served = resource.versions.find((candidate) => candidate.version === version);
    return served === undefined ? [] : [toResource(resource, served)];
  });
  return { version, freshness: "Current", resources };
}

function toResource(
  resource: CatalogResource,
  { version, kind, verbs, subresources }: CatalogVersion,
): DiscoveryResource {
  const { group, storageVersion, isCustom = false } = resource;
  // As kubernetes: only the kinds of custom resources repeat the group and version of the list.
  const kindIn = (own: DiscoveryKind): DiscoveryKind => (isCustom ? own : relativeKind(own, { group, version }));
  return {
    resource: resource.resource,
    responseKind: kindIn({ group, version, kind }),
    scope: resource.namespaced ? "Namespaced" : "Cluster",
    singularResource: resource.singular,
    verbs,
    shortNames: resource.shortNames,
    categories: resource.categories,
    subresources: subresources.map(({ name, verbs: own, responseKind }) => ({
      subresource: name,
      responseKind: kindIn(responseKind),
      verbs: own,
    })),
    storageVersionHash: storageVersion === undefined ? undefined : hashOf(storageVersion, kind),
  };
}

/** Removes group and version from a kind that belongs to the group version of the list. */
export function relativeKind(
  kind: DiscoveryKind,
  list: { readonly group: string; readonly version: string },
): DiscoveryKind {
  const isOwn = kind.group === list.group && kind.version === list.version;
  return isOwn ? { group: "", version: "", kind: kind.kind } : kind;
}

function hashOf(storageVersion: string, kind: string): string {
  const { group, version } = parseGroupVersion(storageVersion);
  return storageVersionHash(group, version, kind);
}
