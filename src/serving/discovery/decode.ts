/**
 * Decodes the discovery documents of other servers. Unknown fields are ignored. A wrong type or an exceeded limit
 * throws an error that names the problem, so that the whole document is rejected. If two entries have the same name,
 * the first one is kept.
 */
import { ALL_VERBS } from "../../objects/catalog/catalog.ts";
import { formatGroupVersion, type GroupVersion } from "../../meta/group-version.ts";
import { isJsonObject, type JsonObject } from "../../meta/json.ts";
import type {
  DiscoveryGroup,
  DiscoveryKind,
  DiscoveryResource,
  DiscoverySubresource,
  DiscoveryVersion,
} from "./groups.ts";
import * as limits from "./discovery-limits.ts";
import { relativeKind } from "./local.ts";
import { compareNames, isAscending } from "./order.ts";
import { areSameWords } from "./same.ts";

const FORMS: readonly unknown[] = ["apidiscovery.k8s.io/v2", "apidiscovery.k8s.io/v2beta1"];
const COMMON_LISTS: readonly (readonly string[])[] = [[], ALL_VERBS, ["get", "patch", "update"]];
/**
 * Aggregated API servers name subresources freely (custom metrics, for example), so a name only has to be valid in a
 * path.
 */
const NAME = /^[^\s/\p{Cc}]+$/u;

/** Decodes an aggregated document, of /api or of /apis, in its v2 or v2beta1 form. */
export function decodeGroups(value: unknown): DiscoveryGroup[] {
  const document = objectOf(value, "the document");
  if (document["kind"] !== "APIGroupDiscoveryList" || !FORMS.includes(document["apiVersion"]))
    throw new Error("The document is not a supported APIGroupDiscoveryList.");
  const groups = listOf(document["items"], "items", limits.GROUPS_MAX).map(toGroup);
  const resources = groups.flatMap(({ versions }) => versions.flatMap((version) => version.resources));
  const count = resources.reduce((sum, { subresources }) => sum + 1 + subresources.length, 0);
  if (count > limits.RESOURCES_MAX) throw new Error(`The document has more than ${limits.RESOURCES_MAX} resources.`);
  return uniqueBy(groups, ({ name }) => name).filter(({ versions }) => versions.length > 0);
}

/** Decodes an APIResourceList, the only form that servers without aggregated discovery publish. */
export function decodeResourceList(value: unknown, groupVersion: GroupVersion): DiscoveryVersion {
  const document = objectOf(value, "the document");
  const text = formatGroupVersion(groupVersion);
  if (document["kind"] !== "APIResourceList" || document["groupVersion"] !== text)
    throw new Error(`The document is not the APIResourceList of ${text}.`);
  const members = listOf(document["resources"], "resources", limits.RESOURCES_PER_VERSION_MAX).map((member) =>
    objectOf(member, "a resource"),
  );
  const entries = members.map((member) => toLegacyEntry(member, groupVersion)).filter((entry) => entry !== undefined);
  const subresources = Map.groupBy(
    entries.filter(({ subresource }) => subresource !== undefined),
    ({ name }) => name,
  );
  const parents = new Map<string, DiscoveryResource>();
  for (const { name, subresource, resource } of entries) {
    const known = parents.get(name);
    if (subresource === undefined && (known === undefined || known.responseKind.kind === ""))
      parents.set(name, resource);
    else if (known === undefined) parents.set(name, onlySubresources(name, resource.scope));
  }
  const resources = [...parents].map(([name, parent]) => ({
    ...parent,
    subresources: inOrder((subresources.get(name) ?? []).map(toLegacySubresource), (item) => item.subresource),
  }));
  return {
    version: groupVersion.version,
    freshness: "Current",
    resources: inOrder(resources, ({ resource }) => resource),
  };
}

function toGroup(value: unknown): DiscoveryGroup {
  const item = objectOf(value, "a group");
  const metadata = item["metadata"] === undefined ? {} : objectOf(item["metadata"], "metadata of a group");
  const name = optionalText(metadata["name"], "the name of a group");
  if (name !== "") checkName(name, "the name of a group");
  const versions = listOf(item["versions"], `versions of ${name}`, limits.VERSIONS_PER_GROUP_MAX);
  return {
    name,
    versions: uniqueBy(
      versions.map((version) => toVersion(version, name)),
      ({ version }) => version,
    ),
  };
}

function toVersion(value: unknown, group: string): DiscoveryVersion {
  const item = objectOf(value, `a version of ${group}`);
  const version = nameOf(item["version"], `a version of ${group}`);
  const freshness = item["freshness"] ?? "Current";
  if (freshness !== "Current" && freshness !== "Stale")
    throw new Error(`The freshness of ${group}/${version} is neither Current nor Stale.`);
  const resources = listOf(item["resources"], `resources of ${group}/${version}`, limits.RESOURCES_PER_VERSION_MAX);
  return {
    version,
    freshness,
    resources: inOrder(
      resources.map((resource) => toResource(resource, { group, version })),
      ({ resource }) => resource,
    ),
  };
}

function toResource(value: unknown, groupVersion: GroupVersion): DiscoveryResource {
  const item = objectOf(value, "a resource");
  const resource = nameOf(item["resource"], "the name of a resource");
  const { scope, storageVersionHash } = item;
  if (scope !== "Namespaced" && scope !== "Cluster")
    throw new Error(`The scope of ${resource} is neither Namespaced nor Cluster.`);
  const subresources = listOf(
    item["subresources"],
    `subresources of ${resource}`,
    limits.SUBRESOURCES_PER_RESOURCE_MAX,
  ).map((subresource) => toSubresource(subresource, groupVersion));
  return {
    resource,
    responseKind: kindOf(item["responseKind"], groupVersion),
    scope,
    singularResource: optionalText(item["singularResource"], `the singular name of ${resource}`),
    ...wordsOf(item),
    subresources: inOrder(subresources, ({ subresource }) => subresource),
    storageVersionHash:
      storageVersionHash === undefined ? undefined : textOf(storageVersionHash, `the storage version of ${resource}`),
  };
}

function toSubresource(value: unknown, groupVersion: GroupVersion): DiscoverySubresource {
  const item = objectOf(value, "a subresource");
  return {
    subresource: nameOf(item["subresource"], "the name of a subresource"),
    responseKind: kindOf(item["responseKind"], groupVersion),
    verbs: verbsOf(item),
  };
}

interface LegacyEntry {
  readonly name: string;
  readonly subresource: string | undefined;
  readonly resource: DiscoveryResource;
}

/**
 * Returns undefined for a path below a subresource (resource/subresource/more), because aggregated discovery cannot
 * express it.
 */
function toLegacyEntry(item: JsonObject, groupVersion: GroupVersion): LegacyEntry | undefined {
  const path = textOf(item["name"], "the name of a resource").split("/");
  const [name, subresource] = path;
  if (path.length > 2) return undefined;
  const { namespaced, storageVersionHash } = item;
  if (typeof namespaced !== "boolean")
    throw new Error(`The entry ${path.join("/")} does not specify whether it is namespaced.`);
  const resource: DiscoveryResource = {
    resource: nameOf(name, "the name of a resource"),
    responseKind: kindOf({ group: item["group"], version: item["version"], kind: item["kind"] }, groupVersion),
    scope: namespaced ? "Namespaced" : "Cluster",
    singularResource: optionalText(item["singularName"], "a singular name"),
    ...wordsOf(item),
    subresources: [],
    storageVersionHash:
      storageVersionHash === undefined ? undefined : textOf(storageVersionHash, "the storage version of a resource"),
  };
  return {
    name: resource.resource,
    subresource: subresource === undefined ? undefined : nameOf(subresource, "the name of a subresource"),
    resource,
  };
}

function toLegacySubresource({ subresource = "", resource }: LegacyEntry): DiscoverySubresource {
  return { subresource, responseKind: resource.responseKind, verbs: resource.verbs };
}

function onlySubresources(resource: string, scope: DiscoveryResource["scope"]): DiscoveryResource {
  return {
    resource,
    responseKind: { group: "", version: "", kind: "" },
    scope,
    singularResource: "",
    verbs: [],
    shortNames: [],
    categories: [],
    subresources: [],
    storageVersionHash: undefined,
  };
}

/** Decodes a response kind. It is empty for a resource that has only subresources. */
function kindOf(value: unknown, list: GroupVersion): DiscoveryKind {
  const item = value === undefined || value === null ? {} : objectOf(value, "a response kind");
  const kind: DiscoveryKind = {
    group: optionalText(item["group"], "the group of a response kind"),
    version: optionalText(item["version"], "the version of a response kind"),
    kind: optionalText(item["kind"], "a response kind"),
  };
  return relativeKind(kind, list);
}

function wordsOf(item: JsonObject): Pick<DiscoveryResource, "verbs" | "shortNames" | "categories"> {
  return {
    verbs: verbsOf(item),
    shortNames: words(item["shortNames"], "short names"),
    categories: words(item["categories"], "categories"),
  };
}

function words(value: unknown, what: string): readonly string[] {
  return shared(listOf(value, what, limits.WORDS_MAX).map((word) => textOf(word, what)));
}

function verbsOf({ verbs }: JsonObject): readonly string[] {
  const list = words(verbs, "verbs");
  return isAscending(list, compareNames) ? list : shared([...new Set(list)].sort(compareNames));
}

/** Returns the shared copy of a common list. Sharing saves memory, and equal documents compare faster. */
function shared(list: readonly string[]): readonly string[] {
  return COMMON_LISTS.find((common) => areSameWords(common, list)) ?? list;
}

function objectOf(value: unknown, what: string): JsonObject {
  if (!isJsonObject(value)) throw new Error(`In the discovery document, ${what} is not an object.`);
  return value;
}

/** Treats null and an absent list as empty, because Go encodes an empty list in both ways. */
function listOf(value: unknown, what: string, max: number): readonly unknown[] {
  if (value === undefined || value === null) return [];
  if (!Array.isArray(value)) throw new Error(`In the discovery document, ${what} is not a list.`);
  if (value.length > max) throw new Error(`In the discovery document, ${what} has more than ${max} entries.`);
  return value as readonly unknown[];
}

function textOf(value: unknown, what: string): string {
  if (typeof value !== "string") throw new Error(`In the discovery document, ${what} is not a string.`);
  if (value.length > limits.TEXT_LENGTH_MAX) throw new Error(`In the discovery document, ${what} is too long.`);
  return value;
}

function optionalText(value: unknown, what: string): string {
  return value === undefined ? "" : textOf(value, what);
}

function nameOf(value: unknown, what: string): string {
  const name = textOf(value, what);
  checkName(name, what);
  return name;
}

function checkName(name: string, what: string): void {
  if (!NAME.test(name)) throw new Error(`In the discovery document, ${what} is not a name.`);
}

function uniqueBy<Item>(items: readonly Item[], key: (item: Item) => string): readonly Item[] {
  const seen = new Map<string, Item>();
  for (const item of items) if (!seen.has(key(item))) seen.set(key(item), item);
  return seen.size === items.length ? items : [...seen.values()];
}

function inOrder<Item>(items: readonly Item[], key: (item: Item) => string): readonly Item[] {
  const compare = (left: Item, right: Item): number => compareNames(key(left), key(right));
  return isAscending(items, compare) ? items : uniqueBy(items, key).toSorted(compare);
}
