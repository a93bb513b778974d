/** What a catalogue serves, in every form discovery has. */
import type { Catalogue, CatalogueGroup, CatalogueResource, CatalogueVersion } from "../catalogue/catalogue.ts";
import { storageVersionHash } from "../catalogue/storage-version-hash.ts";
import { formatGroupVersion, parseGroupVersion } from "../meta/group-version.ts";
import type { JsonObject } from "../meta/json.ts";

/** /api: the versions of the core group, and where clients of which networks should go. */
export function apiVersions(catalogue: Catalogue, serverAddress: string): JsonObject {
  const core = catalogue.groups.find((group) => group.name === "");
  return {
    kind: "APIVersions",
    versions: core?.versions ?? [],
    serverAddressByClientCIDRs: [{ clientCIDR: "0.0.0.0/0", serverAddress }],
  };
}

/** /apis */
export function apiGroupList(catalogue: Catalogue): JsonObject {
  return { kind: "APIGroupList", apiVersion: "v1", groups: namedGroups(catalogue).map(groupMembers) };
}

/** /apis/GROUP */
export function apiGroup(group: CatalogueGroup): JsonObject {
  return { kind: "APIGroup", apiVersion: "v1", ...groupMembers(group) };
}

/** /api/v1 and /apis/GROUP/VERSION */
export function apiResourceList(group: CatalogueGroup, version: string): JsonObject {
  const resources = group.resources.flatMap((resource) => {
    const served = resource.versions.find((candidate) => candidate.version === version);
    return served === undefined ? [] : [legacyResource(resource, served), ...legacySubresources(resource, served)];
  });
  // As kubernetes: the core group's list carries no apiVersion.
  const apiVersion = group.name === "" ? {} : { apiVersion: "v1" };
  return {
    kind: "APIResourceList",
    ...apiVersion,
    groupVersion: formatGroupVersion({ group: group.name, version }),
    resources,
  };
}

/** The aggregated form of /api (the core group) or /apis (all others). */
export function aggregatedGroups(catalogue: Catalogue, prefix: "api" | "apis"): JsonObject {
  const groups = prefix === "api" ? catalogue.groups.filter((group) => group.name === "") : namedGroups(catalogue);
  return {
    kind: "APIGroupDiscoveryList",
    apiVersion: "apidiscovery.k8s.io/v2",
    metadata: {},
    items: groups.map(aggregatedGroup),
  };
}

function namedGroups(catalogue: Catalogue): CatalogueGroup[] {
  return catalogue.groups.filter((group) => group.name !== "");
}

function groupMembers(group: CatalogueGroup): JsonObject {
  const versions = group.versions.map((version) => ({
    groupVersion: formatGroupVersion({ group: group.name, version }),
    version,
  }));
  return {
    name: group.name,
    versions,
    preferredVersion: versions.find(({ version }) => version === group.preferredVersion),
  };
}

function legacyResource(resource: CatalogueResource, version: CatalogueVersion): JsonObject {
  return {
    name: resource.resource,
    singularName: resource.singular,
    namespaced: resource.namespaced,
    kind: version.kind,
    verbs: version.verbs,
    ...(resource.shortNames.length === 0 ? {} : { shortNames: resource.shortNames }),
    ...(resource.categories.length === 0 ? {} : { categories: resource.categories }),
    ...(resource.storageVersion === undefined
      ? {}
      : { storageVersionHash: hashOf(resource.storageVersion, version.kind) }),
  };
}

function legacySubresources(resource: CatalogueResource, version: CatalogueVersion): JsonObject[] {
  return version.subresources.map(({ name, verbs, responseKind }) => {
    const isOwn = responseKind.group === resource.group && responseKind.version === version.version;
    return {
      name: `${resource.resource}/${name}`,
      singularName: "",
      namespaced: resource.namespaced,
      ...(isOwn ? {} : { group: responseKind.group, version: responseKind.version }),
      kind: responseKind.kind,
      verbs,
    };
  });
}

function hashOf(storageVersion: string, kind: string): string {
  const { group, version } = parseGroupVersion(storageVersion);
  return storageVersionHash(group, version, kind);
}

function aggregatedGroup(group: CatalogueGroup): JsonObject {
  return {
    metadata: group.name === "" ? {} : { name: group.name },
    versions: group.versions.map((version) => ({
      version,
      resources: aggregatedResources(group, version),
      freshness: "Current",
    })),
  };
}

function aggregatedResources(group: CatalogueGroup, version: string): JsonObject[] {
  return group.resources.flatMap((resource) => {
    const served = resource.versions.find((candidate) => candidate.version === version);
    return served === undefined ? [] : [aggregatedResource(resource, served)];
  });
}

/** An empty group and version in responseKind mean "those of the list". */
function aggregatedResource(resource: CatalogueResource, version: CatalogueVersion): JsonObject {
  const subresources = version.subresources.map(({ name, verbs, responseKind }) => {
    const isOwn = responseKind.group === resource.group && responseKind.version === version.version;
    return {
      subresource: name,
      responseKind: isOwn ? { group: "", version: "", kind: responseKind.kind } : responseKind,
      verbs,
    };
  });
  return {
    resource: resource.resource,
    responseKind: { group: "", version: "", kind: version.kind },
    scope: resource.namespaced ? "Namespaced" : "Cluster",
    singularResource: resource.singular,
    verbs: version.verbs,
    ...(resource.shortNames.length === 0 ? {} : { shortNames: resource.shortNames }),
    ...(resource.categories.length === 0 ? {} : { categories: resource.categories }),
    ...(subresources.length === 0 ? {} : { subresources }),
  };
}
