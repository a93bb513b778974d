/** Builds the table of served resources from the resources of the catalog. */
import type { Catalog, CatalogResource, CatalogVersion } from "../../objects/catalog/catalog.ts";
import type { ResourceEndpoint } from "../endpoints/endpoint.ts";
import type { ResolveEndpoint } from "../endpoints/resolve-or-not-found.ts";
import { RELEASES, type ReleaseName } from "../../objects/catalog/release.ts";
import { openSchemas } from "../../objects/catalog/schema-source.ts";
import { tableColumns } from "../../objects/catalog/table-columns.ts";
import type { KindOf } from "../../objects/kinds/kinds.ts";
import { formatGroupVersion, parseGroupVersion } from "../../meta/group-version.ts";
import { fixedEncoding, type Encoding, type ServedResource, type StoredResource } from "../registry/resource.ts";
import { tableRenderer } from "../../objects/table/table.ts";
import { strategyFor } from "../registry/strategies.ts";
import { gatesOf } from "../../objects/catalog/release-gates.ts";

interface ResourceTableOptions {
  readonly catalog: Catalog;
  readonly storageRoot: string;
  readonly eventTtlSeconds: number;
  readonly kindOf: KindOf;
  /** The encoding on which the servers agree for a resource. Absent or undefined: that of the release. */
  readonly encodingOf?: ((resource: CatalogResource) => Encoding | undefined) | undefined;
}

export interface ResourceTable {
  readonly resolve: ResolveEndpoint;
  /** True if the catalog has the group; "" is the core group. */
  readonly hasGroup: (group: string) => boolean;
  readonly stored: readonly StoredResource[];
}

export function createResourceTable(options: ResourceTableOptions): ResourceTable {
  const endpoints = new Map<string, ResourceEndpoint>();
  const stored: StoredResource[] = [];
  const groups = new Set(options.catalog.groups.map((group) => group.name));
  for (const resource of options.catalog.groups.flatMap((group) => group.resources)) {
    const storedResource = toStored(resource, options);
    if (storedResource !== undefined) stored.push(storedResource);
    for (const version of resource.versions) {
      endpoints.set(
        endpointKey(resource.group, version.version, resource.resource),
        toEndpoint(resource, version, { options, stored: storedResource }),
      );
    }
  }
  return {
    resolve: (group, version, resource) => endpoints.get(endpointKey(group, version, resource)),
    hasGroup: (group) => groups.has(group),
    stored,
  };
}

function endpointKey(group: string, version: string, resource: string): string {
  return `${group}/${version}/${resource}`;
}

function toStored(resource: CatalogResource, options: ResourceTableOptions): StoredResource | undefined {
  const { storagePrefix, storageVersion, group, namespaced } = resource;
  if (storagePrefix === undefined || storageVersion === undefined) return undefined;
  const hasStatus = resource.versions.some((version) =>
    version.subresources.some((subresource) => subresource.name === "status"),
  );
  return {
    group,
    resource: resource.resource,
    namespaced,
    keyPrefix: `${options.storageRoot}${storagePrefix}/`,
    storageVersion: parseGroupVersion(storageVersion),
    encoding: options.encodingOf?.(resource) ?? fixedEncoding(parseGroupVersion(storageVersion)),
    strategy: strategyFor(group, resource.resource, { hasStatus, eventTtlSeconds: options.eventTtlSeconds }),
  };
}

function toEndpoint(
  resource: CatalogResource,
  version: CatalogVersion,
  from: { options: ResourceTableOptions; stored: StoredResource | undefined },
): ResourceEndpoint {
  return {
    group: resource.group,
    version: version.version,
    resource: resource.resource,
    kind: version.kind,
    namespaced: resource.namespaced,
    verbs: new Set(version.verbs),
    subresources: new Map(version.subresources.map(({ name, verbs }) => [name, new Set(verbs)])),
    ...fateOf(resource, version, from.options.catalog.release.minor),
    served: from.stored === undefined ? undefined : toServed(from.options, version, from.stored),
  };
}

/** The deprecation warning. As kubernetes: "… is deprecated in v1.26+, unavailable in v1.29+; use …". */
function fateOf(
  { group }: CatalogResource,
  { version, kind, lifecycle }: CatalogVersion,
  minor: string,
): Pick<ResourceEndpoint, "deprecation" | "removedRelease"> {
  const deprecated = lifecycle?.deprecated;
  if (deprecated === undefined || minorOf(deprecated) > Number(minor)) return { deprecation: undefined };
  const removed = lifecycle?.removed === undefined ? "" : `, unavailable in v${lifecycle.removed}+`;
  const { replacement } = lifecycle ?? {};
  const instead = replacement === undefined ? "" : `; use ${formatGroupVersion(replacement)} ${replacement.kind}`;
  return {
    deprecation: `${formatGroupVersion({ group, version })} ${kind} is deprecated in v${deprecated}+${removed}${instead}`,
    removedRelease: lifecycle?.removed,
  };
}

function minorOf(release: string): number {
  return Number(release.split(".")[1]);
}

function toServed(
  { catalog, kindOf }: ResourceTableOptions,
  version: CatalogVersion,
  stored: StoredResource,
): ServedResource {
  const groupVersion = { group: stored.group, version: version.version };
  const apiVersion = formatGroupVersion(groupVersion);
  const { kind, listKind, fieldSelectors, fieldSelectorErrorStyle, fieldSelectorAliases } = version;
  return {
    stored,
    groupResource: { group: stored.group, resource: stored.resource },
    groupVersion,
    apiVersion,
    kind,
    listKind,
    meaning: kindOf(groupVersion, kind),
    gates: gatesOf(catalog.release.name),
    fieldSelectors,
    fieldSelectorErrorStyle,
    fieldSelectorAliases,
    objectHead: Buffer.from(`{"kind":${JSON.stringify(kind)},"apiVersion":${JSON.stringify(apiVersion)},`),
    schemaOf: ({ group, version: other }, of = kind) => catalog.schemas.kind(group, other, of),
    isOfLaterRelease: ({ group, version: other }) =>
      laterReleases(catalog).some((release) => openSchemas(release).kind(group, other, kind) !== undefined),
    get table() {
      const columns = tableColumns(catalog.release.name, groupVersion.group, kind);
      return tableRenderer({ group: groupVersion.group, kind, columns, gates: gatesOf(catalog.release.name) });
    },
    // Decoded at its first use, because most kinds are never written.
    get schema() {
      const schema = catalog.schemas.kind(groupVersion.group, groupVersion.version, kind);
      if (schema === undefined) throw new Error(`the catalog has no schema for ${apiVersion} ${kind}`);
      return schema;
    },
  };
}

function laterReleases({ release }: Catalog): readonly ReleaseName[] {
  return RELEASES.slice(RELEASES.indexOf(release.name) + 1);
}
