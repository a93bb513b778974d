/**
 * The source from which routing knows what peers serve: either their discovery documents or the StorageVersion objects,
 * as --peer-routing-source says.
 */
import { must } from "../../base/assert.ts";
import type { Clock } from "../../base/clock.ts";
import { openCatalog, type Catalog } from "../../objects/catalog/catalog.ts";
import { isReleaseName } from "../../objects/catalog/release.ts";
import { parseRuntimeConfig } from "../../objects/catalog/runtime-config.ts";
import { storagePlaces } from "../../objects/catalog/storage-places.ts";
import { localGroups } from "../../serving/discovery/local.ts";
import { formatGroupResource } from "../../meta/group-version.ts";
import type { Excludable } from "./exclusions.ts";
import { createServedSet } from "./served-set.ts";
import {
  describedByRegistration,
  isRegisteredByUnknownServers,
  StorageVersionSource,
  type Describing,
  type RegisteredEntry,
  type ReleaseServing,
} from "./storage-version-source.ts";
import type { ClusterView, PeerView, ResourceQuestion } from "./view.ts";
import type { WatchCache } from "../../storage/watch-cache/cache.ts";
import { parseEntry, type Entry } from "../../storage/watch-cache/entry.ts";
import { decodeStatus } from "../storageversion/decode-status.ts";
import { STORAGE_VERSION_TYPE } from "../storageversion/objects.ts";
import type { BackgroundTask } from "../../base/background.ts";
import type { MemberConfig } from "./peer-config.ts";
import { watchPrefix } from "../../storage/watch-cache/watch-prefix.ts";

export interface RoutingSource {
  /** Whether this source is loaded. Until then, this server must not conclude that a resource does not exist. */
  readonly isSynced: () => boolean;
  /** Combines the documents of the peers with the data of this source. */
  readonly describe: (peers: readonly PeerView[]) => Pick<ClusterView, "peers" | "isDecidedLocally">;
  readonly tasks: readonly BackgroundTask[];
}

interface RoutingSourceParts {
  readonly config: MemberConfig;
  readonly clock: Clock;
  readonly cache: WatchCache;
  readonly catalog: Catalog;
  /** Whether this server has registered all resources that it stores. */
  readonly isRegistered: () => boolean;
  readonly registrationOf: (peerId: string) => Describing["registration"];
  /** IDs of departed servers of this cluster. */
  readonly departedIds: () => Iterable<string>;
  readonly onChange: () => void;
  /** Whether a resource is custom or aggregated, or was so until recently. */
  readonly isExcluded: (question: Excludable) => boolean;
}

export function createRoutingSource(parts: RoutingSourceParts): RoutingSource {
  const { peers } = parts.config;
  return peers.isEnabled && peers.routingSource === "storageversion" ? byStorageVersions(parts) : byDocuments(parts);
}

function byDocuments({ isExcluded }: RoutingSourceParts): RoutingSource {
  return {
    isSynced: () => true,
    describe: (peers) => ({
      peers,
      isDecidedLocally: (group, version, resource) =>
        isExcluded({ group, version, resource }) &&
        !peers.some((peer) => isBuiltIntoPeer(peer, { group, version, resource, subresource: "" })),
    }),
    tasks: [],
  };
}

/** Whether the resource is built into the peer: an Evenkeel server lists only built-in resources in its document. */
function isBuiltIntoPeer({ kube, document }: PeerView, question: ResourceQuestion): boolean {
  return kube === undefined && document?.served.has(question) === true;
}

function byStorageVersions(parts: RoutingSourceParts): RoutingSource {
  const { config, clock, registrationOf, departedIds, isRegistered } = parts;
  const source = new StorageVersionSource();
  const objects = followObjects(parts, source);
  const ofRelease = createReleaseServing();
  const stored = storedNames();
  return {
    isSynced: () => objects.isLoaded() && isRegistered(),
    describe(peers) {
      const { registered } = source;
      const ids = new Set([config.peers.serverId, ...peers.map(({ id }) => id), ...departedIds()]);
      const nowMs = clock.monotonic();
      return {
        peers: peers.map((peer) =>
          describedByRegistration(peer, {
            registered,
            nowMs,
            registration: registrationOf(peer.id),
            ofRelease: ofRelease(peer.release),
          }),
        ),
        isDecidedLocally: (group, version, resource) =>
          // A resource that some release stores is neither aggregated nor custom. If only unknown servers registered
          // it, they have just joined or departed.
          isRegisteredByUnknownServers(registered.servers(group, version, resource), (id) => ids.has(id)) &&
          !stored.has(formatGroupResource({ group, resource })),
      };
    },
    tasks: [objects.task],
  };
}

function followObjects(
  { config, clock, cache, catalog, onChange }: RoutingSourceParts,
  source: StorageVersionSource,
): { readonly task: BackgroundTask; readonly isLoaded: () => boolean } {
  const { group, resource } = STORAGE_VERSION_TYPE;
  const prefix = `${config.storageRoot}${must(catalog.resource(group, resource), "every release has storage versions").storagePrefix}/`;
  const nameOf = (key: string): string => key.slice(prefix.length);
  let isLoaded = false;
  const task = watchPrefix({
    cache,
    clock,
    prefix,
    table: {
      reset(entries) {
        source.reset(entries.map((entry) => [nameOf(entry.key), registeredIn(entry)] as const));
        isLoaded = true;
        onChange();
      },
      put(entry) {
        if (source.put(nameOf(entry.key), registeredIn(entry))) onChange();
      },
      remove(key) {
        source.remove(nameOf(key));
        onChange();
      },
    },
  });
  return { task: { ...task, name: "storage-version-routes" }, isLoaded: () => isLoaded };
}

function registeredIn(entry: Entry): RegisteredEntry[] {
  if (entry.corrupt !== undefined) return [];
  const { storageVersions = [] } = decodeStatus(parseEntry(entry));
  return storageVersions.map(({ apiServerID, servedVersions = [] }) => ({ serverId: apiServerID, servedVersions }));
}

/** Built on first use: it is needed only if a peer has registered before its document is known. */
function createReleaseServing(): (release: string | undefined) => ReleaseServing | undefined {
  const known = new Map<string, ReleaseServing>();
  const stored = storedNames();
  return (release) => {
    if (release === undefined || !isReleaseName(release)) return undefined;
    let serving = known.get(release);
    if (serving !== undefined) return serving;
    let served: ReturnType<typeof createServedSet> | undefined;
    serving = {
      get served() {
        const all = { runtimeConfig: parseRuntimeConfig("api/all=true"), featureGates: EVERY_GATE };
        served ??= createServedSet(localGroups(openCatalog({ release, ...all, extensions: true })));
        return served;
      },
      isStored: (group, resource) => stored.has(formatGroupResource({ group, resource })),
    };
    known.set(release, serving);
    return serving;
  };
}

const EVERY_GATE: ReadonlyMap<string, boolean> = new Map([
  ["AllAlpha", true],
  ["AllBeta", true],
]);

function storedNames(): ReadonlySet<string> {
  return new Set(storagePlaces().map(formatGroupResource));
}
