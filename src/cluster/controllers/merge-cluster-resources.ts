/** Merges the discovery documents of all servers into the resources and doubts that controllers see. */
import { must } from "../../base/assert.ts";
import { compareNames } from "../../serving/discovery/order.ts";
import { storagePlaceOf } from "../../objects/catalog/storage-places.ts";
import type { ClusterResource, ClusterResources, Doubt } from "./cluster-resources.ts";
import type { DiscoveryGroup, DiscoveryResource } from "../../serving/discovery/groups.ts";
import { mergeSources, type DiscoverySource } from "../../serving/discovery/merge.ts";
import { formatGroupResource, type GroupResource } from "../../meta/group-version.ts";
import type { ServedRecord } from "../peers/served-record.ts";
import type { PeerDocuments, Peers } from "../peers/peers.ts";
import { serverName } from "../../serving/discovery/server-name.ts";
import type { ClusterView, PeerView } from "../peers/view.ts";
import type { SharedResources } from "../peers/shared-resources.ts";
import type { PeerConfig } from "../peers/peer-config.ts";

interface ClusterResourcesParts {
  readonly config: { readonly release: string; readonly peers: Pick<PeerConfig, "serverId" | "isEnabled"> };
  readonly peers: Pick<Peers, "view" | "catchUp"> & {
    readonly documents: Omit<PeerDocuments, "hasUndescribed">;
    readonly records: Pick<Peers["records"], "departed">;
  };
  /** The discovery document of this server. It changes when CRDs change. */
  readonly local: { readonly groups: readonly DiscoveryGroup[]; readonly etag: string };
  readonly shared: Pick<SharedResources, "onChange">;
}

/** If the mixed version proxy is off, only this server is considered and there are no doubts. */
export function clusterResources({ config, peers, local, shared }: ClusterResourcesParts): ClusterResources {
  const { serverId, isEnabled } = config.peers;
  const { documents } = peers;
  const self = (): DiscoverySource => ({
    serverId,
    release: config.release,
    isReachable: true,
    groups: local.groups,
    documentKey: local.etag,
  });
  const sources = (): DiscoverySource[] => [self(), ...(isEnabled ? documents.sources() : [])];
  const once = <T>(build: () => T): (() => T) => {
    let built:
      | { readonly generation: number; readonly groups: readonly DiscoveryGroup[]; readonly value: T }
      | undefined;
    return () => {
      const [generation, { groups }] = [documents.generation(), local];
      if (built?.generation !== generation || built.groups !== groups) built = { generation, groups, value: build() };
      return built.value;
    };
  };
  const served = once(() => resourcesOf(mergeSources(sources())));
  const known = once(() => [
    ...undescribedDoubts(documents, peers.view()),
    ...unreachable(sources(), peers.view()),
    ...departed(peers.records.departed(), served()),
  ]);
  return {
    isOneServer: !isEnabled,
    served,
    // Computed on each call, because the generation of the view does not change when the view becomes synced.
    doubts: () => (isEnabled ? [...unsynced(peers, serverId), ...known()] : []),
    catchUp: () => (isEnabled ? peers.catchUp() : Promise.resolve(true)),
    onChange(listener) {
      const ends = [documents.onChange(listener), shared.onChange(listener)];
      return () => ends.forEach((end) => end());
    },
  };
}

interface Offer {
  readonly version: string;
  readonly isCurrent: boolean;
  readonly resource: DiscoveryResource;
}

export function resourcesOf(groups: readonly DiscoveryGroup[]): ClusterResource[] {
  return groups
    .flatMap(({ name: group, versions }) => {
      const offers = versions.flatMap(({ version, freshness, resources }) =>
        resources.map((resource): Offer => ({ version, isCurrent: freshness === "Current", resource })),
      );
      const byName = Map.groupBy(offers, ({ resource }) => resource.resource);
      return [...byName.values()].map((all) => toResource(group, all));
    })
    .sort((left, right) => compareNames(left.group, right.group) || compareNames(left.resource, right.resource));
}

/** Versions that a reachable server serves come before all others. */
function toResource(group: string, offers: readonly Offer[]): ClusterResource {
  const ordered = [...offers.filter(({ isCurrent }) => isCurrent), ...offers.filter(({ isCurrent }) => !isCurrent)];
  const { resource } = must(ordered[0], "a resource is offered by a server");
  return {
    group,
    resource: resource.resource,
    kind: resource.responseKind.kind,
    namespaced: resource.scope === "Namespaced",
    versions: ordered.map(({ version }) => version),
    verbs: new Set(resource.verbs),
  };
}

function unsynced({ view }: Pick<Peers, "view">, server: string): Doubt[] {
  if (view().isSynced) return [];
  return [{ ...ANYTHING, server, because: "does not know yet which other servers are live" }];
}

const ANYTHING = { group: undefined, resource: undefined, namespaced: undefined } as const;

/**
 * Peers without a discovery document are doubts, whichever routing source is configured, because controllers take the
 * resources to request from those documents.
 */
function undescribedDoubts({ undescribed }: Pick<PeerDocuments, "undescribed">, view: ClusterView): Doubt[] {
  return undescribed().map((server) => {
    const { calledAt, unreachableBecause, undescribedBecause } = peerIn(view, server);
    const because = `has not yet published what it serves${inParentheses(unreachableBecause ?? undescribedBecause)}`;
    return { ...ANYTHING, server: serverName(server, calledAt), because };
  });
}

/**
 * Resources that only unreachable servers serve. The store rejects creates of an Evenkeel server in a terminating
 * namespace. A kube-apiserver could still create an object there.
 */
function unreachable(sources: readonly DiscoverySource[], view: ClusterView): Doubt[] {
  const reachable = new Set(
    resourcesOf(mergeSources(sources.filter(({ isReachable }) => isReachable))).map(formatGroupResource),
  );
  return sources
    .filter(({ isReachable }) => !isReachable)
    .flatMap(({ serverId, calledAt, isKubeApiserver, groups }) => {
      const because = `cannot be reached${inParentheses(peerIn(view, serverId).unreachableBecause)}`;
      return resourcesOf(groups)
        .filter((resource) => !reachable.has(formatGroupResource(resource)))
        .map(({ group, resource, namespaced }) => {
          const isCountable = isKubeApiserver !== true && storagePlaceOf(group, resource) !== undefined;
          const doubt = { group, resource, namespaced, server: serverName(serverId, calledAt), because };
          return isCountable ? { ...doubt, isCountable } : doubt;
        });
    });
}

/** The peer in the view, which has the same reasons as `evenkeel status`. */
function peerIn({ peers }: ClusterView, server: string): Partial<PeerView> {
  return peers.find(({ id }) => id === server) ?? {};
}

function inParentheses(reason: string | undefined): string {
  return reason === undefined ? "" : ` (${reason})`;
}

/** Resources of departed servers that no live server serves. */
function departed(records: readonly ServedRecord[], served: readonly ClusterResource[]): Doubt[] {
  const known = new Set(served.map(formatGroupResource));
  const doubts = new Map<string, Doubt>();
  for (const record of records) {
    const { serverId, calledAt, departedAt } = record;
    const because = departedAt === undefined ? "has departed" : `departed at ${departedAt}`;
    for (const { group, resource } of recordedResources(record)) {
      const text = formatGroupResource({ group, resource });
      if (resource.includes("/") || known.has(text)) continue;
      const namespaced = storagePlaceOf(group, resource)?.namespaced;
      doubts.set(text, {
        group,
        resource,
        namespaced,
        server: serverName(serverId, calledAt),
        because,
        isCountable: true,
      });
    }
  }
  return [...doubts.values()];
}

function* recordedResources({ resources }: ServedRecord): Generator<GroupResource> {
  for (const [groupVersion, names] of resources) {
    const group = groupVersion.slice(0, groupVersion.indexOf("/"));
    for (const resource of names) yield { group, resource };
  }
}
