/** Watches and maintains the served records, from which every server knows the resources of departed servers. */
import { type Clock, sleep } from "../../base/clock.ts";
import type { DiscoveryGroup } from "../../serving/discovery/groups.ts";
import type { DiscoverySource } from "../../serving/discovery/merge.ts";
import { createDepartedIndex, DepartedKeeper, isLive, type DepartedIndex, type LiveIncarnations } from "./departed.ts";
import {
  decodeServedRecord,
  recordedResources,
  servedRecordPrefix,
  type ServedRecord,
  type StoredServedRecord,
} from "./served-record.ts";
import type { ClusterView } from "./view.ts";
import { StorageError, type Kv } from "../../storage/kv.ts";
import type { WatchCache } from "../../storage/watch-cache/cache.ts";
import { parseEntry, type Entry } from "../../storage/watch-cache/entry.ts";
import { waitUntil, type BackgroundTask } from "../../base/background.ts";
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
  readonly sources: () => readonly DiscoverySource[];
  readonly changes: { readonly generation: number; count(): void };
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
  /** Resolves when the record of this server is stored. */
  publish(signal: AbortSignal): Promise<void>;
  readonly tasks: readonly BackgroundTask[];
}

const STEP_MS = 1_000;

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
  cache.epoch.onChange(() => keeper.forget());
  const step = (): Promise<void> =>
    commitAll(
      parts,
      keeper.step({
        records: [...records.values()],
        live: liveIncarnations(identity),
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
    index: indexOnce(parts, known),
    departed: () => {
      const live = liveIncarnations(identity);
      return known().filter((record) => !isLive(live, record));
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
  { env, identity, changes }: DepartedParts,
  records: () => readonly ServedRecord[],
): DepartedPart["index"] {
  let built: { readonly generation: number; readonly index: DepartedIndex } | undefined;
  return () => (question) => {
    if (built?.generation !== changes.generation) {
      const { generation } = changes;
      const index = createDepartedIndex({
        records: records(),
        live: liveIncarnations(identity),
        noticedAt: new Date(env.clock.now()).toISOString(),
      });
      built = { generation, index };
    }
    return built.index.find(question);
  };
}

function storedRecord(storageRoot: string, entry: Entry): StoredServedRecord | undefined {
  if (entry.corrupt !== undefined) return undefined;
  const record = decodeServedRecord(storageRoot, { key: entry.key, value: parseEntry(entry) });
  return record && { key: entry.key, revision: entry.modRevision, record };
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

function liveIncarnations({ self, leases }: Identity): LiveIncarnations {
  const live = new Map<string, string | undefined>([[self.id, self.incarnation]]);
  for (const { id, incarnation } of leases.known()) live.set(id, incarnation === "" ? undefined : incarnation);
  return live;
}

/** Records for peers that write none: those that do not publish their release, such as a kube-apiserver. */
function unrecorded({ env, identity, sources }: DepartedParts): ServedRecord[] {
  const runs = liveIncarnations(identity);
  return sources().flatMap(({ serverId, release, groups }) => {
    const incarnation = runs.get(serverId);
    if (release !== undefined || incarnation === undefined) return [];
    const servedAt = new Date(env.clock.now()).toISOString();
    return [{ serverId, incarnation, release, servedAt, departedAt: undefined, resources: recordedResources(groups) }];
  });
}

function isSameRun(left: ServedRecord, right: ServedRecord): boolean {
  return left.serverId === right.serverId && left.incarnation === right.incarnation;
}

/** A write that conflicts or fails is not repeated here: if it is still needed, the next step plans it again. */
async function commitAll(
  { store, env }: Pick<DepartedParts, "store" | "env">,
  writes: ReturnType<DepartedKeeper["step"]>,
): Promise<void> {
  for (const write of writes) {
    try {
      await store.kv.commit(write);
    } catch (thrown) {
      if (!(thrown instanceof StorageError)) throw thrown;
      env.log.warn("served record not written", { key: write.key, error: thrown.message });
      return;
    }
  }
}

const PUBLISH_RETRY_MS = 1_000;

async function waitUntilWithin(clock: Clock, condition: () => boolean, signal: AbortSignal): Promise<void> {
  const until = clock.monotonic() + PUBLISH_RETRY_MS;
  await waitUntil(clock, () => condition() || clock.monotonic() >= until, signal);
}
