/** Watches and maintains the served records, from which every server knows the resources of departed servers. */
import { type Clock, sleep } from "../../base/clock.ts";
import { parseGroupVersion } from "../../meta/group-version.ts";
import { isBuiltInGroup } from "../../objects/catalog/built-in-groups.ts";
import type { DiscoveryGroup } from "../../serving/discovery/groups.ts";
import type { DiscoverySource } from "../../serving/discovery/merge.ts";
import {
  createDepartedIndex,
  DepartedKeeper,
  goneServers,
  isLive,
  type DepartedIndex,
  type Departures,
  type KeeperWrite,
  type LiveIncarnations,
} from "./departed.ts";
import {
  decodeServedRecord,
  encodeServedRecord,
  recordedResources,
  servedRecordPrefix,
  type ServedRecord,
  type StoredServedRecord,
} from "./served-record.ts";
import type { ClusterView, GoneServer } from "./view.ts";
import { isRunOf, type LeaseEvidence } from "./live-servers.ts";
import { prefixEnd, StorageError, type Kv } from "../../storage/kv.ts";
import type { WatchCache } from "../../storage/watch-cache/cache.ts";
import { parseEntry, type Entry } from "../../storage/watch-cache/entry.ts";
import { waitUntil, type BackgroundTask } from "../../base/background.ts";
import { messageOf, within } from "../../base/within.ts";
import type { MemberConfig } from "./peer-config.ts";
import type { BaseEnv } from "../../base/env.ts";
import { watchPrefix } from "../../storage/watch-cache/watch-prefix.ts";
import type { Identity } from "./identity.ts";

interface DepartedParts {
  readonly env: BaseEnv;
  readonly config: MemberConfig;
  readonly store: { readonly kv: Kv; readonly cache: WatchCache };
  readonly identity: Identity;
  readonly builtIn: { readonly groups: readonly DiscoveryGroup[] };
  /** The documents of the peers, without the custom and aggregated resources that this server knows. */
  readonly sources: () => readonly DiscoverySource[];
  readonly changes: { readonly generation: number; count(): void };
  /** The current runs of all live servers. */
  readonly live: () => LiveIncarnations;
}

export interface DepartedPart {
  /**
   * Remembers the served resources of peers that write no record themselves. Must be called whenever the resources that
   * peers serve may have changed.
   */
  observe(): void;
  /** The index of departed resources at this moment. */
  index(): ClusterView["departed"];
  /** The records of runs that have ended. */
  departed(): readonly ServedRecord[];
  /** The servers that departed within their grace period and have not returned. */
  gone(): readonly GoneServer[];
  /** Records that this server leaves the cluster by a graceful shutdown. Gives up after a time limit. */
  leave(): Promise<void>;
  /** Resolves when the record of this server is stored. */
  publish(signal: AbortSignal): Promise<void>;
  readonly tasks: readonly BackgroundTask[];
}

const STEP_MS = 1_000;
const LEAVE_MS_MAX = 5_000;

export function createDeparted(parts: DepartedParts): DepartedPart {
  const { env, config, identity } = parts;
  const { cache } = parts.store;
  const { storageRoot, peers } = config;
  const records = new Map<string, StoredServedRecord>();
  const own = ownRecord(parts);
  const keeper = new DepartedKeeper({
    storageRoot,
    now: () => env.clock.now(),
    monotonic: () => env.clock.monotonic(),
    graceMs: peers.timing.departedGraceMs,
  });
  cache.epoch.onChange(() => {
    // The new history may lack the records of live servers. Until they write them again, they could depart unnoticed.
    keeper.remember(liveRecords(parts, records));
    keeper.forget();
  });
  const step = (): Promise<void> =>
    commitAll(
      parts,
      keeper.step({
        records: [...records.values()],
        live: parts.live(),
        isWatchAlive: cache.state === "following",
        own,
        unrecorded: unrecorded(parts),
      }),
    );
  const known = (): ServedRecord[] => {
    const stored = [...records.values()].map(({ record }) => record);
    const isStored = (run: ServedRecord): boolean => stored.some((record) => isSameRun(record, run));
    return [...stored, ...keeper.remembered.filter((run) => !isStored(run))];
  };
  const follow = followRecords(parts, records);
  return {
    observe: () => keeper.remember(unrecorded(parts)),
    index: indexOnce(parts, known, keeper),
    departed: () => {
      const live = parts.live();
      return known().filter((record) => !isLive(live, record));
    },
    gone: () => goneServers({ records: known(), live: parts.live(), departures: keeper }),
    async leave() {
      const stored = [...records.values()].find(({ record }) => isSameRun(record, own));
      const value = encodeServedRecord({ ...own, isGraceful: true });
      if (stored === undefined || value === undefined) return;
      const write = { kind: "put", key: stored.key, value, expectedRevision: stored.revision } as const;
      try {
        await within(env.clock, LEAVE_MS_MAX, () => commitAll(parts, [write]));
      } catch (thrown) {
        env.log.warn("served record not written", { key: stored.key, error: messageOf(thrown) });
      }
    },
    async publish(signal) {
      await waitUntil(env.clock, () => cache.state === "following", signal);
      const isPublished = (): boolean => [...records.values()].some(({ record }) => isSameRun(record, own));
      while (!signal.aborted && !isPublished()) {
        await step();
        await waitUntilWithin(env.clock, isPublished, signal);
      }
    },
    tasks: [
      follow,
      {
        name: "departed",
        async run(signal) {
          while (await sleep(env.clock, STEP_MS, signal)) {
            if (identity.leases.hasSynced) await step();
          }
        },
      },
    ],
  };
}

function followRecords(from: DepartedParts, into: Map<string, StoredServedRecord>): BackgroundTask {
  const put = (entry: Entry): void => {
    const stored = storedRecord(from.config.storageRoot, entry);
    if (stored === undefined) into.delete(entry.key);
    else into.set(entry.key, stored);
  };
  return watchPrefix({
    cache: from.store.cache,
    clock: from.env.clock,
    prefix: servedRecordPrefix(from.config.storageRoot),
    table: {
      reset(entries) {
        into.clear();
        entries.forEach(put);
        from.changes.count();
      },
      put(entry) {
        put(entry);
        from.changes.count();
      },
      remove(key) {
        into.delete(key);
        from.changes.count();
      },
    },
  });
}

/** Builds the index when it is first used after a change. */
function indexOnce(
  { live, changes }: DepartedParts,
  records: () => readonly ServedRecord[],
  departures: Departures,
): DepartedPart["index"] {
  let built: { readonly generation: number; readonly index: DepartedIndex } | undefined;
  return () => (question) => {
    if (built?.generation !== changes.generation) {
      const { generation } = changes;
      const index = createDepartedIndex({ records: records(), live: live(), departures });
      built = { generation, index };
    }
    return built.index.find(question);
  };
}

function storedRecord(storageRoot: string, entry: Entry): StoredServedRecord | undefined {
  if (entry.corrupt !== undefined) return undefined;
  const decoded = decodeServedRecord(storageRoot, { key: entry.key, value: parseEntry(entry) });
  // Older versions of Evenkeel recorded the whole document of a kube-apiserver.
  const record = decoded?.release === undefined ? decoded && withoutShared(decoded) : decoded;
  return record && { key: entry.key, revision: entry.modRevision, record };
}

/** Whether a record notes that the run of this identity lease has departed. */
export function isNotedAsDeparted(cache: WatchCache, storageRoot: string, lease: LeaseEvidence): boolean {
  const prefix = `${servedRecordPrefix(storageRoot)}${lease.id}/`;
  return cache.range(prefix, prefixEnd(prefix)).some((entry) => {
    const record = storedRecord(storageRoot, entry)?.record;
    return record?.departedAt !== undefined && isRunOf(lease, record.incarnation);
  });
}

/** The records of the other live servers. */
function liveRecords(
  { live, identity }: DepartedParts,
  records: ReadonlyMap<string, StoredServedRecord>,
): ServedRecord[] {
  const runs = live();
  return [...records.values()]
    .map(({ record }) => record)
    .filter((record) => record.serverId !== identity.self.id && isLive(runs, record));
}

function ownRecord({ env, config, identity, builtIn }: DepartedParts): ServedRecord {
  return {
    serverId: identity.self.id,
    incarnation: identity.self.incarnation,
    release: config.release,
    servedAt: new Date(env.clock.now()).toISOString(),
    departedAt: undefined,
    resources: recordedResources(builtIn.groups),
  };
}

/** Records for kube-apiservers, which write none. */
function unrecorded({ env, live, sources }: DepartedParts): ServedRecord[] {
  const runs = live();
  return sources().flatMap(({ serverId, calledAt, release, isKubeApiserver, groups }) => {
    const incarnation = runs.get(serverId);
    if (isKubeApiserver !== true || incarnation === undefined) return [];
    const servedAt = new Date(env.clock.now()).toISOString();
    const resources = recordedResources(groups);
    return [withoutShared({ serverId, calledAt, incarnation, release, servedAt, departedAt: undefined, resources })];
  });
}

/**
 * The record without custom and aggregated resources, which the document of a kube-apiserver lists as well. Whether
 * they exist is decided by the store alone.
 */
function withoutShared(record: ServedRecord): ServedRecord {
  const builtIn = [...record.resources].filter(([groupVersion]) =>
    isBuiltInGroup(parseGroupVersion(groupVersion).group),
  );
  return { ...record, resources: new Map(builtIn) };
}

function isSameRun(left: ServedRecord, right: ServedRecord): boolean {
  return left.serverId === right.serverId && left.incarnation === right.incarnation;
}

/** A write that conflicts or fails is not repeated here: if it is still needed, the next step plans it again. */
async function commitAll(
  { store, env }: Pick<DepartedParts, "store" | "env">,
  writes: readonly KeeperWrite[],
): Promise<void> {
  for (const write of writes) {
    try {
      await commit(store.kv, write);
    } catch (thrown) {
      if (!(thrown instanceof StorageError)) throw thrown;
      env.log.warn("served record not written", { key: write.key, error: thrown.message });
      return;
    }
  }
}

async function commit(kv: Kv, write: KeeperWrite): Promise<void> {
  if (write.kind === "delete" || write.ttlSeconds === undefined) {
    await kv.commit(write);
    return;
  }
  const { ttlSeconds, ...put } = write;
  await kv.commit({ ...put, lease: await kv.leaseGrant(ttlSeconds) });
}

const PUBLISH_RETRY_MS = 1_000;

async function waitUntilWithin(clock: Clock, condition: () => boolean, signal: AbortSignal): Promise<void> {
  const until = clock.monotonic() + PUBLISH_RETRY_MS;
  await waitUntil(clock, () => condition() || clock.monotonic() >= until, signal);
}
