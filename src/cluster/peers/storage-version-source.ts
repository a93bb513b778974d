/**
 * Determines, for routing, which servers serve a resource according to the StorageVersion objects. Each object covers
 * one resource, and its entries are replaced in one step, so that a resource never has fewer servers than the objects
 * list.
 *
 * The objects list only groups, versions and resources that are stored. Verbs, subresources and resources that are
 * never stored come from the document of the server. Until it is known, the server is assumed to serve the most that
 * its release can serve: a wrong assumption causes a 503, but a missing one could cause a false 404.
 */
import type { ServedSet } from "./served-set.ts";
import type { PeerView, ResourceQuestion } from "./view.ts";

/** The entry of one server for one resource. */
export interface RegisteredEntry {
  readonly serverId: string;
  /** Served versions in the form "v1" or "group/v1". */
  readonly servedVersions: readonly string[];
}

/** The registered entries at one moment. */
interface Registered {
  /** IDs of the servers that serve the resource, including unknown servers. */
  servers(group: string, version: string, resource: string): readonly string[];
  /** Whether the server has registered anything. */
  has(serverId: string): boolean;
  hasGroupVersion(serverId: string, group: string, version: string): boolean;
  hasGroup(serverId: string, group: string): boolean;
}

export class StorageVersionSource {
  readonly #objects = new Map<string, readonly RegisteredEntry[]>();
  #registered: Registered | undefined;

  /** Replaces all objects. */
  reset(objects: Iterable<readonly [name: string, entries: readonly RegisteredEntry[]]>): void {
    this.#objects.clear();
    for (const [name, entries] of objects) this.#objects.set(name, entries);
    this.#registered = undefined;
  }

  /** Sets the entries of one object. Returns whether the servers or versions of the resource have changed. */
  put(name: string, entries: readonly RegisteredEntry[]): boolean {
    const isSame = areSame(this.#objects.get(name) ?? [], entries);
    this.#objects.set(name, entries);
    if (!isSame) this.#registered = undefined;
    return !isSame;
  }

  remove(name: string): void {
    this.#objects.delete(name);
    this.#registered = undefined;
  }

  /** The same value until something changes. */
  get registered(): Registered {
    this.#registered ??= createRegistered(this.#objects);
    return this.#registered;
  }
}

/** The most that servers of a release can serve, with every optional API enabled. */
export interface ReleaseServing {
  readonly served: ServedSet;
  /** Whether any release stores the resource, so that servers register it in a StorageVersion object. */
  isStored(group: string, resource: string): boolean;
}

export interface Describing {
  readonly registered: Registered;
  /**
   * - complete: the server has published that every resource it stores is registered.
   * - never: the server is ready and does not register, or, as a kube-apiserver, does not publish whether it does.
   * - pending: neither is known yet.
   */
  readonly registration: "complete" | "never" | "pending";
  /** Undefined if the catalog does not have the release of the peer. */
  readonly ofRelease: ReleaseServing | undefined;
  readonly nowMs: number;
}

/**
 * The view of a peer, completed by its registration. A peer that never registers is described by its document alone.
 */
export function describedByRegistration(peer: PeerView, describing: Describing): PeerView {
  const { registered, registration, ofRelease, nowMs } = describing;
  const isComplete = registration === "complete" && (peer.isDescribed || ofRelease !== undefined);
  const isKnown = isComplete || peer.document !== undefined || registered.has(peer.id);
  return {
    ...peer,
    isDescribed: isComplete || (registration === "never" && peer.isDescribed),
    document: isKnown
      ? { served: servedBy(peer, describing), confirmedAtMs: peer.document?.confirmedAtMs ?? nowMs }
      : undefined,
  };
}

/**
 * The resources that a peer serves. Its document and its registration can both add a resource; the document decides
 * about verbs and subresources.
 */
function servedBy(peer: PeerView, { registered, ofRelease, registration }: Describing): ServedSet {
  const { id, isDescribed: isCurrent } = peer;
  const said = peer.document?.served;
  const isRegistered = ({ group, version, resource }: ResourceQuestion): boolean =>
    registered.servers(group, version, resource).includes(id);
  const assumed = (question: ResourceQuestion, isThere: (set: ServedSet) => boolean): boolean => {
    // A document of the current run is complete for each resource that it lists.
    if (isCurrent && said?.has(parentOf(question)) === true) return false;
    const known = ofRelease?.served;
    if (isRegistered(question)) return known?.has(parentOf(question)) === true ? isThere(known) : true;
    if (isCurrent || registration !== "complete" || ofRelease === undefined) return false;
    return !ofRelease.isStored(question.group, question.resource) && isThere(ofRelease.served);
  };
  return {
    has: (question) => said?.has(question) === true || assumed(question, (set) => set.has(question)),
    hasVerb: (question, verb) =>
      said?.hasVerb(question, verb) === true || assumed(question, (set) => set.hasVerb(question, verb)),
    hasGroupVersion: (group, version) =>
      said?.hasGroupVersion(group, version) === true || registered.hasGroupVersion(id, group, version),
    hasGroup: (group) => said?.hasGroup(group) === true || registered.hasGroup(id, group),
  };
}

/**
 * Whether every server that registered the resource is unknown to this cluster, as aggregated servers are. Unless a
 * release stores the resource, each server then decides about it itself.
 */
export function isRegisteredByUnknownServers(
  servers: readonly string[],
  isOfCluster: (id: string) => boolean,
): boolean {
  return servers.length > 0 && !servers.some(isOfCluster);
}

type Index = Map<string, Map<string, Map<string, string[]>>>;

function createRegistered(objects: ReadonlyMap<string, readonly RegisteredEntry[]>): Registered {
  const byGroup: Index = new Map();
  const ids = new Set<string>();
  for (const [name, entries] of objects) {
    const { group, resource } = resourceOf(name);
    for (const { serverId, servedVersions } of entries) {
      ids.add(serverId);
      for (const served of servedVersions) add(byGroup, groupVersionOf(served, group), { resource, serverId });
    }
  }
  const namesIn = (resources: ReadonlyMap<string, readonly string[]> | undefined, id: string): boolean =>
    [...(resources?.values() ?? [])].some((servers) => servers.includes(id));
  return {
    servers: (group, version, resource) => byGroup.get(group)?.get(version)?.get(resource) ?? NO_SERVERS,
    has: (id) => ids.has(id),
    hasGroupVersion: (id, group, version) => namesIn(byGroup.get(group)?.get(version), id),
    hasGroup: (id, group) => [...(byGroup.get(group)?.values() ?? [])].some((resources) => namesIn(resources, id)),
  };
}

const NO_SERVERS: readonly string[] = [];

function add(
  byGroup: Index,
  { group, version }: { readonly group: string; readonly version: string },
  { resource, serverId }: { readonly resource: string; readonly serverId: string },
): void {
  const versions = byGroup.get(group) ?? new Map<string, Map<string, string[]>>();
  byGroup.set(group, versions);
  const resources = versions.get(version) ?? new Map<string, string[]>();
  versions.set(version, resources);
  const servers = resources.get(resource) ?? [];
  resources.set(resource, servers);
  if (!servers.includes(serverId)) servers.push(serverId);
}

/** Splits the name of the object at its last dot. */
function resourceOf(name: string): { readonly group: string; readonly resource: string } {
  const dot = name.lastIndexOf(".");
  const group = name.slice(0, Math.max(dot, 0));
  return { group: group === "core" ? "" : group, resource: name.slice(dot + 1) };
}

/** A version without a group belongs to the object's group, because the core group has no name. */
function groupVersionOf(served: string, group: string): { readonly group: string; readonly version: string } {
  const slash = served.indexOf("/");
  return slash < 0 ? { group, version: served } : { group: served.slice(0, slash), version: served.slice(slash + 1) };
}

function areSame(left: readonly RegisteredEntry[], right: readonly RegisteredEntry[]): boolean {
  const text = (entries: readonly RegisteredEntry[]): string =>
    JSON.stringify(entries.map(({ serverId, servedVersions }) => [serverId, servedVersions]));
  return text(left) === text(right);
}

function parentOf({ group, version, resource }: ResourceQuestion): ResourceQuestion {
  return { group, version, resource, subresource: "" };
}
