/**
 * The resource table of a program's own resources. Unlike the table of custom resources it never changes, because the
 * program defines the resources and not CRDs in the store.
 */
import type { Catalog, CatalogGroup } from "../../objects/catalog/catalog.ts";
import { toCatalogResource } from "../crd/serving/catalog-resource.ts";
import { withCustomResources } from "../crd/serving/custom-groups.ts";
import type { Crd } from "../crd/crd.ts";
import type { ResourceEndpoint } from "../../serving/endpoints/endpoint.ts";
import { formatGroupVersion } from "../../meta/group-version.ts";
import { fixedEncoding, type Encoding } from "../../serving/registry/resource.ts";
import type { CustomSchema } from "../crd/structural-schema/custom-schema.ts";
import type { StoredResourceVersions } from "../../cluster/storageversion/encodings.ts";
import { storageVersionName } from "../../cluster/storageversion/objects.ts";
import { customEndpoint } from "../crd/serving/custom-endpoint.ts";
import { OptionError } from "../../base/option-error.ts";
import type { ResourceTable } from "../../serving/resources/built-in-table.ts";
import { toCrd, type ResourceDefinition } from "./resource-definition.ts";
import { withHooks, type ResourceBehavior } from "./resource-kind.ts";
import type { ReleaseGates } from "../../objects/release-gates.ts";

/** A resource and the custom resource definition derived from it. */
export interface OwnResource {
  readonly resource: ResourceDefinition;
  readonly definition: Crd;
}

/** Throws an OptionError if there is no resource, or one is invalid or given twice. */
export function ownResources(resources: readonly ResourceDefinition[], gates: ReleaseGates): OwnResource[] {
  if (resources.length === 0) throw new OptionError("an API server needs at least one resource");
  const taken = new Set<string>();
  return resources.map((resource) => {
    const definition = toCrd(resource, gates);
    if (taken.has(definition.name)) throw new OptionError(`the resource ${definition.name} is given twice`);
    taken.add(definition.name);
    return { resource, definition };
  });
}

interface OwnTableOptions {
  readonly resources: readonly OwnResource[];
  readonly catalog: Pick<Catalog, "schemas" | "release">;
  readonly storageRoot: string;
  /** The encoding in which a resource is written. If absent, it is written in its storage version. */
  readonly encodingOf?: ((name: string) => Encoding) | undefined;
}

export function ownResourceTable(options: OwnTableOptions): ResourceTable {
  const endpoints = new Map<string, ResourceEndpoint>();
  for (const own of options.resources)
    for (const endpoint of endpointsOf(own, options))
      endpoints.set(`${endpoint.group}/${endpoint.version}/${endpoint.resource}`, endpoint);
  const all = [...endpoints.values()];
  const groups = new Set(all.map(({ group }) => group));
  const stored = new Map(
    all.flatMap(({ served }) => (served === undefined ? [] : [[served.stored.keyPrefix, served]])),
  );
  return {
    resolve: (group, version, resource) => endpoints.get(`${group}/${version}/${resource}`),
    hasGroup: (group) => groups.has(group),
    stored: [...stored.values()].map((served) => served.stored),
  };
}

function endpointsOf({ resource, definition }: OwnResource, options: OwnTableOptions): ResourceEndpoint[] {
  const { catalog, storageRoot, encodingOf } = options;
  const { group, storageVersion, names, versions } = definition;
  const fixed = fixedEncoding({ group, version: storageVersion });
  const schemas = new Map<string, CustomSchema>();
  const hooks = new Map(resource.versions.map((version) => [`${group}/${version.name}`, version]));
  const meanings: ResourceBehavior = {
    hooksOf: (apiVersion) => hooks.get(apiVersion) ?? {},
    convert: resource.convert && ((object, to) => resource.convert!(object, to)),
  };
  return versions
    .filter(({ isServed }) => isServed)
    .map((version) => {
      const endpoint = customEndpoint(definition, version, {
        catalog,
        storageRoot,
        schemas,
        encoding: encodingOf?.(storageVersionName(group, names.plural)) ?? fixed,
        convert: undefined,
        // Never rejects, because the CRD of a program's resource is never deleted.
        rejectCreation: () => Promise.resolve(undefined),
      });
      return { ...endpoint, served: endpoint.served && withHooks(endpoint.served, meanings) };
    });
}

/** The groups as discovery shows them. */
export function ownGroups(resources: readonly OwnResource[]): CatalogGroup[] {
  return withCustomResources(
    [],
    resources.flatMap(({ definition }) => toCatalogResource(definition) ?? []),
  );
}

/** The stored versions that the server publishes for its resources. */
export function ownStoredVersions(resources: readonly OwnResource[]): StoredResourceVersions[] {
  return resources.map(({ definition: { group, names, versions, storageVersion } }) => {
    const groupVersions = (those: typeof versions): string[] =>
      those.map(({ name }) => formatGroupVersion({ group, version: name }));
    return {
      group,
      resource: names.plural,
      name: storageVersionName(group, names.plural),
      aliases: [{ group, resource: names.plural }],
      preferred: formatGroupVersion({ group, version: storageVersion }),
      decodable: groupVersions(versions),
      served: groupVersions(versions.filter(({ isServed }) => isServed)),
      isNeededToPublish: false,
    };
  });
}
