/**
 * Describes a CRD in the same form as the built-in resources of the catalog, so that discovery and OpenAPI can treat
 * both alike.
 */
import type { CatalogResource, CatalogSubresource, CatalogVersion } from "../../../objects/catalog/catalog.ts";
import type { Crd, CrdVersion } from "../crd.ts";

// As kubernetes: the order of the verbs. It need not match that of peers, because their documents are not merged for
// custom resources.
const VERBS: readonly string[] = ["delete", "deletecollection", "get", "list", "patch", "create", "update", "watch"];
const VERBS_WHILE_TERMINATING: readonly string[] = ["delete", "deletecollection", "get", "list", "watch"];
const SUBRESOURCE_VERBS: readonly string[] = ["get", "patch", "update"];

/** Undefined if the CRD is not established, or serves no version. */
export function toCatalogResource(crd: Crd): CatalogResource | undefined {
  const { group, acceptedNames: names, versions, storageVersion } = crd;
  const served = versions.filter(({ isServed }) => isServed);
  if (!crd.isEstablished || served.length === 0) return undefined;
  // As kubernetes: a storage version that is not served has no hash.
  const hasHash = served.some(({ isStorage }) => isStorage);
  return {
    group,
    isCustom: true,
    resource: names.plural,
    singular: names.singular,
    namespaced: crd.namespaced,
    shortNames: names.shortNames,
    categories: names.categories,
    storagePrefix: `${group}/${names.plural}`,
    storageVersion: hasHash ? `${group}/${storageVersion}` : undefined,
    decodableVersions: versions.map(({ name }) => `${group}/${name}`),
    versions: served.map((version) => toVersion(crd, version)),
  };
}

function toVersion({ group, acceptedNames, isTerminating, namespaced }: Crd, version: CrdVersion): CatalogVersion {
  const { kind, listKind } = acceptedNames;
  return {
    version: version.name,
    kind,
    listKind,
    verbs: isTerminating ? VERBS_WHILE_TERMINATING : VERBS,
    subresources: subresourcesOf(version, { group, version: version.name, kind }),
    fieldSelectors: fieldSelectorsOf(version, namespaced),
    fieldSelectorAliases: {},
    fieldSelectorErrorStyle: "label",
  };
}

function subresourcesOf(
  version: CrdVersion,
  own: { group: string; version: string; kind: string },
): CatalogSubresource[] {
  const scale = { group: "autoscaling", version: "v1", kind: "Scale" };
  return [
    ...(version.hasStatus ? [{ name: "status", verbs: SUBRESOURCE_VERBS, responseKind: own }] : []),
    ...(version.scale === undefined ? [] : [{ name: "scale", verbs: SUBRESOURCE_VERBS, responseKind: scale }]),
  ];
}

export function fieldSelectorsOf({ selectableFields }: CrdVersion, namespaced: boolean): string[] {
  const ofMetadata = namespaced ? ["metadata.name", "metadata.namespace"] : ["metadata.name"];
  return [...ofMetadata, ...selectableFields.map((path) => path.replace(/^\./, ""))];
}
