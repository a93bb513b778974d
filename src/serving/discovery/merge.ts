/**
 * Merges the discovery documents of several servers. The result contains everything that any server serves. If servers
 * describe the same resource differently, the description of the server with the highest rank (rank.ts) is used.
 * `joinViews` is a semilattice join: its result does not depend on order, grouping or repetition, so all servers show
 * the same document. All lists are sorted, so that two lists are joined in one walk.
 *
 * A group version is Current if a reachable server serves it, otherwise Stale. Discovery cannot mark single resources
 * as stale: if a group version is Current, the resources that only unreachable servers serve are listed as well, and
 * requests for them return 503.
 */
import { compareGroups } from "../../objects/catalog/group-order.ts";
import type { DiscoveryGroup, DiscoveryResource, DiscoverySubresource, DiscoveryVersion } from "./groups.ts";
import { compareNames, compareApiVersions, isAscending } from "./order.ts";
import type { Candidate } from "./newest.ts";
import { compareRanks, rankOf, type Rank } from "./rank.ts";
import { areSameResources, areSameWords } from "./same.ts";

/** One server and its discovery document. */
export interface DiscoverySource extends Candidate {
  readonly groups: readonly DiscoveryGroup[];
  /** True for a kube-apiserver, whose document also lists custom and aggregated resources. */
  readonly isKubeApiserver?: boolean | undefined;
  /** The host and port of a kube-apiserver whose ID is a guess. */
  readonly calledAt?: string | undefined;
  /**
   * A key, such as a digest, that is equal for equal documents. If it is absent, two documents are equal only if
   * `groups` is the same array.
   */
  readonly documentKey?: string | undefined;
  /** The ID of the run of the server that sent the document; undefined if the server does not publish it. */
  readonly run?: string | undefined;
}

/** One document, or several joined documents. Each part has the rank of the server that described it. */
type DiscoveryView = readonly GroupView[];

interface GroupView {
  readonly name: string;
  readonly versions: readonly VersionView[];
}

interface VersionView {
  readonly version: string;
  readonly isCurrent: boolean;
  /**
   * The resources are not split into views while all servers agree, which is the usual case: single resources then need
   * not be compared.
   */
  readonly content: AgreedContent | readonly ResourceView[];
}

interface AgreedContent {
  readonly rank: Rank;
  readonly resources: readonly DiscoveryResource[];
}

interface ResourceView {
  readonly name: string;
  /** The rank of the server whose kind, scope, names and categories are used. */
  readonly rank: Rank;
  readonly described: DiscoveryResource;
  readonly verbs: readonly string[];
  readonly subresources: readonly SubresourceView[];
  /** The storage version hash has a rank of its own, because kube-apiserver does not publish the hash. */
  readonly hash: { readonly rank: Rank; readonly text: string } | undefined;
}

interface SubresourceView {
  readonly name: string;
  readonly rank: Rank;
  readonly described: DiscoverySubresource;
  readonly verbs: readonly string[];
}

/** Merges the documents of the servers. Servers with equal documents are merged as one. */
export function mergeSources(sources: readonly DiscoverySource[]): DiscoveryGroup[] {
  const byDocument = Map.groupBy(sources, ({ documentKey, groups }) => documentKey ?? groups);
  const views = [...byDocument.values()].map(viewOf);
  return renderView(views.reduce(joinViews, []));
}

/** The view of servers that all have the same document, with the highest of their ranks. */
export function viewOf(sources: readonly DiscoverySource[]): DiscoveryView {
  const [first] = sources;
  if (first === undefined) return [];
  const rank = sources.map(rankOf).reduce((best, other) => (compareRanks(other, best) < 0 ? other : best));
  const isReachable = sources.some((source) => source.isReachable);
  return canonical(
    first.groups.map((group) => viewGroup(group, rank, isReachable)),
    GROUPS,
  );
}

export function joinViews(left: DiscoveryView, right: DiscoveryView): DiscoveryView {
  return joinSorted(left, right, GROUPS);
}

export function renderView(view: DiscoveryView): DiscoveryGroup[] {
  return view.flatMap(({ name, versions }) =>
    versions.length === 0 ? [] : [{ name, versions: versions.map(renderVersion) }],
  );
}

function viewGroup({ name, versions }: DiscoveryGroup, rank: Rank, isReachable: boolean): GroupView {
  return {
    name,
    versions: canonical(
      versions.map((version) => viewVersion(version, rank, isReachable)),
      VERSIONS,
    ),
  };
}

function viewVersion(
  { version, freshness, resources }: DiscoveryVersion,
  rank: Rank,
  isReachable: boolean,
): VersionView {
  return {
    version,
    isCurrent: isReachable && freshness === "Current",
    content: { rank, resources },
  };
}

function viewResource(described: DiscoveryResource, rank: Rank): ResourceView {
  const { resource: name, verbs, subresources, storageVersionHash } = described;
  return {
    name,
    rank,
    described,
    verbs,
    subresources: subresources.map((subresource) => viewSubresource(subresource, rank)),
    hash: storageVersionHash === undefined ? undefined : { rank, text: storageVersionHash },
  };
}

function viewSubresource(described: DiscoverySubresource, rank: Rank): SubresourceView {
  return { name: described.subresource, rank, described, verbs: described.verbs };
}

/** The order of the items of a list, and the way to join two items with the same name. */
interface ItemRules<Item> {
  readonly compare: (left: Item, right: Item) => number;
  readonly join: (left: Item, right: Item) => Item;
}

const SUBRESOURCES: ItemRules<SubresourceView> = {
  compare: (left, right) => compareNames(left.name, right.name),
  join(left, right) {
    const [winner, other] = compareClaims(left, right, subresourceText) <= 0 ? [left, right] : [right, left];
    const verbs = joinWords(winner.verbs, other.verbs);
    return verbs === winner.verbs ? winner : { name: left.name, rank: winner.rank, described: winner.described, verbs };
  },
};

const RESOURCES: ItemRules<ResourceView> = {
  compare: (left, right) => compareNames(left.name, right.name),
  join(left, right) {
    const [winner, other] = compareClaims(left, right, resourceText) <= 0 ? [left, right] : [right, left];
    return {
      name: left.name,
      rank: winner.rank,
      described: winner.described,
      verbs: joinWords(winner.verbs, other.verbs),
      subresources: joinSorted(left.subresources, right.subresources, SUBRESOURCES),
      hash: joinHashes(left.hash, right.hash),
    };
  },
};

const VERSIONS: ItemRules<VersionView> = {
  compare: (left, right) => compareApiVersions(left.version, right.version),
  join: (left, right) => ({
    version: left.version,
    isCurrent: left.isCurrent || right.isCurrent,
    content: joinContents(left.content, right.content),
  }),
};

const GROUPS: ItemRules<GroupView> = {
  compare: (left, right) => compareGroups(left.name, right.name),
  join: (left, right) => ({ name: left.name, versions: joinSorted(left.versions, right.versions, VERSIONS) }),
};

function joinContents(left: VersionView["content"], right: VersionView["content"]): VersionView["content"] {
  if ("rank" in left && "rank" in right && areSameResources(left.resources, right.resources))
    return compareRanks(left.rank, right.rank) <= 0 ? left : right;
  return joinSorted(inDetail(left), inDetail(right), RESOURCES);
}

function inDetail(content: VersionView["content"]): readonly ResourceView[] {
  return "rank" in content ? content.resources.map((resource) => viewResource(resource, content.rank)) : content;
}

function joinHashes(left: ResourceView["hash"], right: ResourceView["hash"]): ResourceView["hash"] {
  if (left === undefined || right === undefined) return left ?? right;
  return (compareRanks(left.rank, right.rank) || compareNames(left.text, right.text)) <= 0 ? left : right;
}

function joinSorted<Item>(
  left: readonly Item[],
  right: readonly Item[],
  { compare, join }: ItemRules<Item>,
): readonly Item[] {
  if (left.length === 0) return right;
  if (right.length === 0) return left;
  const joined: Item[] = [];
  let next = 0;
  for (const item of left) {
    let order = -1;
    let other = right[next];
    while (other !== undefined && (order = compare(other, item)) < 0) {
      joined.push(other);
      other = right[++next];
    }
    if (other === undefined || order !== 0) {
      joined.push(item);
      continue;
    }
    joined.push(join(item, other));
    next++;
  }
  for (; next < right.length; next++) joined.push(right[next] as Item);
  return joined;
}

/**
 * Sorts the list and joins equal items. Returns the list itself if it is in order, as the lists of a release nearly
 * always are.
 */
function canonical<Item>(items: readonly Item[], rules: ItemRules<Item>): readonly Item[] {
  if (isAscending(items, rules.compare)) return items;
  const joined: Item[] = [];
  for (const item of items.toSorted(rules.compare)) {
    const last = joined.at(-1);
    if (last !== undefined && rules.compare(last, item) === 0) joined[joined.length - 1] = rules.join(last, item);
    else joined.push(item);
  }
  return joined;
}

const WORDS: ItemRules<string> = { compare: compareNames, join: (word) => word };

function joinWords(left: readonly string[], right: readonly string[]): readonly string[] {
  return areSameWords(left, right) ? left : joinSorted(left, right, WORDS);
}

/**
 * Compares the texts only if the ranks are equal, which means that one server describes the same resource in two ways.
 */
function compareClaims<Description>(
  left: { readonly rank: Rank; readonly described: Description },
  right: { readonly rank: Rank; readonly described: Description },
  text: (described: Description) => string,
): number {
  if (left.described === right.described) return compareRanks(left.rank, right.rank);
  return compareRanks(left.rank, right.rank) || compareNames(text(left.described), text(right.described));
}

function resourceText({ responseKind, scope, singularResource, shortNames, categories }: DiscoveryResource): string {
  const { group, version, kind } = responseKind;
  return JSON.stringify([group, version, kind, scope, singularResource, shortNames, categories]);
}

function subresourceText({ responseKind: { group, version, kind } }: DiscoverySubresource): string {
  return JSON.stringify([group, version, kind]);
}

function renderVersion({ version, isCurrent, content }: VersionView): DiscoveryVersion {
  const resources = "rank" in content ? content.resources : content.map(renderResource);
  return { version, freshness: isCurrent ? "Current" : "Stale", resources };
}

function renderResource({ described, verbs, subresources, hash }: ResourceView): DiscoveryResource {
  return {
    ...described,
    verbs,
    subresources: subresources.map(renderSubresource),
    storageVersionHash: hash?.text,
  };
}

function renderSubresource({ described, verbs }: SubresourceView): DiscoverySubresource {
  return described.verbs === verbs ? described : { ...described, verbs };
}
