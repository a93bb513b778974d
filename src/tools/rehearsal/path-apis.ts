/** Lists the APIs that the releases of a plan serve by default, and the version in which each release stores them. */
import { openCatalog, type CatalogResource, type CatalogVersion } from "../../objects/catalog/catalog.ts";
import { parseRuntimeConfig } from "../../objects/catalog/runtime-config.ts";
import type { ReleaseName } from "../../objects/catalog/release.ts";

/** A group, version and resource that at least one release of the plan serves. */
export interface PathApi {
  readonly group: string;
  readonly version: string;
  readonly resource: string;
  readonly kind: string;
  readonly namespaced: boolean;
  readonly verbs: readonly string[];
  /** Key prefix relative to the root of the store; undefined for resources that are not stored. */
  readonly storagePrefix: string | undefined;
  /** Releases that serve this version, oldest first. */
  readonly servedBy: readonly ReleaseName[];
  /**
   * The version in which each release stores the resource, for example "resource.k8s.io/v1"; contains every release
   * that serves the resource in any version.
   */
  readonly storedAs: ReadonlyMap<ReleaseName, string>;
  /** Lifecycle of the API in the newest release that serves it. */
  readonly lifecycle: CatalogVersion["lifecycle"];
}

interface Found {
  readonly resource: CatalogResource;
  readonly version: CatalogVersion;
  readonly servedBy: ReleaseName[];
}

/** `runtimeConfig` is that of every server, and must be valid for every release. */
export function pathApis(releases: readonly ReleaseName[], runtimeConfig: readonly string[] = []): PathApi[] {
  const config = parseRuntimeConfig(runtimeConfig);
  const found = new Map<string, Found>();
  const stored = new Map<string, Map<ReleaseName, string>>();
  for (const release of releases) {
    const { groups } = openCatalog({ release, extensions: true, runtimeConfig: config });
    for (const resource of groups.flatMap(({ resources }) => resources)) {
      noteStorage(stored, release, resource);
      for (const version of resource.versions) {
        const key = `${resource.group}/${version.version}/${resource.resource}`;
        found.set(key, { resource, version, servedBy: [...(found.get(key)?.servedBy ?? []), release] });
      }
    }
  }
  return [...found.values()].map((one) => toApi(one, stored));
}

/** Returns why a server of a release would not start with the runtime config; undefined if all would. */
export function runtimeConfigProblem(
  releases: readonly ReleaseName[],
  runtimeConfig: readonly string[],
): string | undefined {
  for (const release of releases) {
    try {
      openCatalog({ release, extensions: true, runtimeConfig: parseRuntimeConfig(runtimeConfig) });
    } catch (thrown) {
      const why = thrown instanceof Error ? thrown.message : String(thrown);
      return `a server of ${release} would not start with --runtime-config=${runtimeConfig.join(",")}: ${why}`;
    }
  }
  return undefined;
}

/** True if not every release of the plan serves it. */
export function appearsOrVanishes({ servedBy }: PathApi, releases: readonly ReleaseName[]): boolean {
  return servedBy.length < releases.length;
}

export function changesEncoding({ storedAs }: PathApi): boolean {
  return new Set(storedAs.values()).size > 1;
}

function noteStorage(
  stored: Map<string, Map<ReleaseName, string>>,
  release: ReleaseName,
  { group, resource, storageVersion }: CatalogResource,
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
