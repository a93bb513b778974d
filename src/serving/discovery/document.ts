/**
 * Builds every form of a discovery document from the same groups, which are those of one server or of a whole cluster.
 */
import type { CatalogGroup } from "../../objects/catalog/catalog.ts";
import { formatGroupVersion, type GroupVersion } from "../../meta/group-version.ts";
import type { JsonObject } from "../../meta/json.ts";
import type {
  DiscoveryGroup,
  DiscoveryKind,
  DiscoveryResource,
  DiscoverySubresource,
  DiscoveryVersion,
} from "./groups.ts";
import { localVersion, relativeKind } from "./local.ts";

/** "peer" is v2 with additional fields for other servers; clients ignore these fields. */
type AggregatedForm = "v2" | "v2beta1" | "peer";

/** /api: the versions of the core group, and the server address per client CIDR. */
export function apiVersions(groups: readonly DiscoveryGroup[], serverAddress: string): JsonObject {
  const core = groups.find((group) => group.name === "");
  return {
    kind: "APIVersions",
    versions: core?.versions.map(({ version }) => version) ?? [],
    serverAddressByClientCIDRs: [{ clientCIDR: "0.0.0.0/0", serverAddress }],
  };
}

/** /apis: all groups except the core group. */
export function apiGroupList(groups: readonly DiscoveryGroup[]): JsonObject {
  return { kind: "APIGroupList", apiVersion: "v1", groups: below(groups, "apis").map(groupMembers) };
}

/** /apis/GROUP: the versions of one group. */
export function apiGroup(group: DiscoveryGroup): JsonObject {
  return { kind: "APIGroup", apiVersion: "v1", ...groupMembers(group) };
}

/** /api/v1 and /apis/GROUP/VERSION: the resources of one group version. */
export function resourceList(group: string, { version, resources }: DiscoveryVersion): JsonObject {
  // As kubernetes: the core group's list has no apiVersion.
  const apiVersion = group === "" ? {} : { apiVersion: "v1" };
  return {
    kind: "APIResourceList",
    ...apiVersion,
    groupVersion: formatGroupVersion({ group, version }),
    resources: resources.flatMap((resource) => [
      ...legacyResource(resource, { group, version }),
      ...legacySubresources(resource, { group, version }),
    ]),
  };
}

/** The APIResourceList of a group version of the catalog of this server. */
export function apiResourceList(group: CatalogGroup, version: string): JsonObject {
  return resourceList(group.name, localVersion(group, version));
}

/** The aggregated form of /api (the core group) or /apis (all other groups). */
export function aggregatedGroups(
  groups: readonly DiscoveryGroup[],
  prefix: "api" | "apis",
  form: AggregatedForm,
): JsonObject {
  const toResource = form === "peer" ? peerResource : aggregatedResource;
  return {
    kind: "APIGroupDiscoveryList",
    apiVersion: `apidiscovery.k8s.io/${form === "v2beta1" ? "v2beta1" : "v2"}`,
    metadata: {},
    items: below(groups, prefix).map(({ name, versions }) => ({
      metadata: name === "" ? {} : { name },
      versions: versions.map(({ version, resources, freshness }) => ({
        version,
        resources: resources.map(toResource),
        freshness,
      })),
    })),
  };
}

function below(groups: readonly DiscoveryGroup[], prefix: "api" | "apis"): DiscoveryGroup[] {
  return groups.filter(({ name }) => (name === "") === (prefix === "api"));
}

function groupMembers({ name, versions }: DiscoveryGroup): JsonObject {
  const members = versions.map(({ version }) => ({
    groupVersion: formatGroupVersion({ group: name, version }),
    version,
  }));
  return { name, versions: members, preferredVersion: members[0] };
}

/** Returns no entry for a resource without a kind: it has only subresources and cannot be requested itself. */
function legacyResource(resource: DiscoveryResource, list: GroupVersion): JsonObject[] {
  const { responseKind, shortNames, categories, storageVersionHash } = resource;
  if (responseKind.kind === "") return [];
  return [
    {
      name: resource.resource,
      singularName: resource.singularResource,
      namespaced: resource.scope === "Namespaced",
      ...foreignGroupVersion(responseKind, list),
      kind: responseKind.kind,
      verbs: resource.verbs,
      ...(shortNames.length === 0 ? {} : { shortNames }),
      ...(categories.length === 0 ? {} : { categories }),
      ...(storageVersionHash === undefined ? {} : { storageVersionHash }),
    },
  ];
}

function legacySubresources({ resource, scope, subresources }: DiscoveryResource, list: GroupVersion): JsonObject[] {
  return subresources.map(({ subresource, verbs, responseKind }) => ({
    name: `${resource}/${subresource}`,
    singularName: "",
    namespaced: scope === "Namespaced",
    ...foreignGroupVersion(responseKind, list),
    kind: responseKind.kind,
    verbs,
  }));
}

function foreignGroupVersion(kind: DiscoveryKind, list: GroupVersion): JsonObject {
  const { group, version } = relativeKind(kind, list);
  return group === "" && version === "" ? {} : { group, version };
}

function aggregatedResource(resource: DiscoveryResource): JsonObject {
  const { shortNames, categories, subresources } = resource;
  return {
    resource: resource.resource,
    responseKind: kindMembers(resource.responseKind),
    scope: resource.scope,
    singularResource: resource.singularResource,
    verbs: resource.verbs,
    ...(shortNames.length === 0 ? {} : { shortNames }),
    ...(categories.length === 0 ? {} : { categories }),
    ...(subresources.length === 0 ? {} : { subresources: subresources.map(aggregatedSubresource) }),
  };
}

function aggregatedSubresource({ subresource, responseKind, verbs }: DiscoverySubresource): JsonObject {
  return { subresource, responseKind: kindMembers(responseKind), verbs };
}

/** Writes the fields always in the same order, because ETags are computed from the encoded text. */
function kindMembers({ group, version, kind }: DiscoveryKind): JsonObject {
  return { group, version, kind };
}

function peerResource(resource: DiscoveryResource): JsonObject {
  const { storageVersionHash } = resource;
  return { ...aggregatedResource(resource), ...(storageVersionHash === undefined ? {} : { storageVersionHash }) };
}
