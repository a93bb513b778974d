/** The APIs that the releases on the way serve by default, and the version that each release stores them in. */
import { openCatalogue, type CatalogueResource, type CatalogueVersion } from "../../objects/catalogue/catalogue.ts";
import type { ReleaseName } from "../../objects/catalogue/release.ts";

/** One group, version and resource that at least one release on the way serves. */
export interface PathApi {
  readonly group: string;
  readonly version: string;
  readonly resource: string;
  readonly kind: string;
  readonly namespaced: boolean;
  readonly verbs: readonly string[];
  /** Key part under the root of the store; undefined for what is never stored. */
  readonly storagePrefix: string | undefined;
  /** Those that serve it, oldest first. */
  readonly servedBy: readonly ReleaseName[];
  /** By release that serves the resource in whatever version: what it writes, such as "resource.k8s.io/v1". */
  readonly storedAs: ReadonlyMap<ReleaseName, string>;
  /** As the newest release that serves it says. */
  readonly lifecycle: CatalogueVersion["lifecycle"];
}

interface Found {
  readonly resource: CatalogueResource;
  readonly version: CatalogueVersion;
  readonly servedBy: ReleaseName[];
}

export function pathApis(releases: readonly ReleaseName[]): PathApi[] {
  const found = new Map<string, Found>();
  const stored = new Map<string, Map<ReleaseName, string>>();
  for (const release of releases) {
    for (const resource of openCatalogue({ release, extensions: true }).groups.flatMap(({ resources }) => resources)) {
      noteStorage(stored, release, resource);
      for (const version of resource.versions) {
        const key = `${resource.group}/${version.version}/${resource.resource}`;
        found.set(key, { resource, version, servedBy: [...(found.get(key)?.servedBy ?? []), release] });
      }
    }
  }
  return [...found.values()].map((one) => toApi(one, stored));
}

/** Not every release on the way serves it. */
export function comesOrGoes({ servedBy }: PathApi, releases: readonly ReleaseName[]): boolean {
  return servedBy.length < releases.length;
}

export function changesEncoding({ storedAs }: PathApi): boolean {
  return new Set(storedAs.values()).size > 1;
}

function noteStorage(
  stored: Map<string, Map<ReleaseName, string>>,
  release: ReleaseName,
  { group, resource, storageVersion }: CatalogueResource,
): void {
  if (storageVersion === undefined) return;
  const key = `${group}/${resource}`;
  const versions = stored.get(key) ?? new Map<ReleaseName, string>();
  stored.set(key, versions.set(release, storageVersion));
}

function toApi(
  { resource, version, servedBy }: Found,
  stored: ReadonlyMap<string, ReadonlyMap<ReleaseName, string>>,
): PathApi {
  return {
    group: resource.group,
    version: version.version,
    resource: resource.resource,
    kind: version.kind,
    namespaced: resource.namespaced,
    verbs: version.verbs,
    storagePrefix: resource.storagePrefix,
    servedBy,
    storedAs: stored.get(`${resource.group}/${resource.resource}`) ?? new Map(),
    lifecycle: version.lifecycle,
  };
}
