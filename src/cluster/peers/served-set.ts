/**
 * The resources, subresources and verbs that a discovery document lists. A query takes two lookups and allocates
 * nothing.
 */
import type { DiscoveryGroup } from "../../serving/discovery/groups.ts";
import type { ResourceQuestion } from "./view.ts";

export interface ServedSet {
  /** Whether the resource, or the given subresource, is served with any verb. */
  has(question: ResourceQuestion): boolean;
  hasVerb(question: ResourceQuestion, verb: string): boolean;
  hasGroupVersion(group: string, version: string): boolean;
  hasGroup(group: string): boolean;
}

interface ServedResource {
  readonly verbs: Set<string>;
  readonly subresources: Map<string, Set<string>>;
}

/**
 * Omits stale group versions, because the aggregated server behind them did not respond, and groups that have only
 * stale ones. A document may list a resource twice, in `/api` and `/apis`; the entries are merged.
 */
export function createServedSet(groups: readonly DiscoveryGroup[]): ServedSet {
  const byGroup = new Map<string, Map<string, Map<string, ServedResource>>>();
  for (const group of groups) {
    for (const { version, freshness, resources } of group.versions) {
      if (freshness !== "Current") continue;
      const versions = entry(byGroup, group.name, () => new Map<string, Map<string, ServedResource>>());
      const served = entry(versions, version, () => new Map<string, ServedResource>());
      addResources(served, resources);
    }
  }
  const find = ({ group, version, resource }: ResourceQuestion): ServedResource | undefined =>
    byGroup.get(group)?.get(version)?.get(resource);
  const verbsOf = (question: ResourceQuestion): ReadonlySet<string> | undefined => {
    const found = find(question);
    return question.subresource === "" ? found?.verbs : found?.subresources.get(question.subresource);
  };
  return {
    // A resource without verbs is not served: it is listed only for its subresources.
    has: (question) => (verbsOf(question)?.size ?? 0) > 0,
    hasVerb: (question, verb) => verbsOf(question)?.has(verb) === true,
    hasGroupVersion: (group, version) => byGroup.get(group)?.has(version) === true,
    hasGroup: (group) => byGroup.has(group),
  };
}

/** The union of two sets. */
export function eitherServedSet(first: ServedSet, second: ServedSet): ServedSet {
  return {
    has: (question) => first.has(question) || second.has(question),
    hasVerb: (question, verb) => first.hasVerb(question, verb) || second.hasVerb(question, verb),
    hasGroupVersion: (group, version) =>
      first.hasGroupVersion(group, version) || second.hasGroupVersion(group, version),
    hasGroup: (group) => first.hasGroup(group) || second.hasGroup(group),
  };
}

function addResources(
  served: Map<string, ServedResource>,
  resources: DiscoveryGroup["versions"][number]["resources"],
): void {
  for (const { resource, verbs, subresources } of resources) {
    const own = entry(served, resource, newResource);
    for (const verb of verbs) own.verbs.add(verb);
    for (const below of subresources) {
      const belowVerbs = entry(own.subresources, below.subresource, () => new Set<string>());
      for (const verb of below.verbs) belowVerbs.add(verb);
    }
  }
}

function entry<K, V>(map: Map<K, V>, key: K, create: () => V): V {
  let value = map.get(key);
  if (value === undefined) map.set(key, (value = create()));
  return value;
}

function newResource(): ServedResource {
  return { verbs: new Set(), subresources: new Map() };
}
