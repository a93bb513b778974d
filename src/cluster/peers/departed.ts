/**
 * What has departed: served by a server of this cluster whose run is over. It is answered with 503 for a grace, because
 * a 404 would tell clients that it never was or is gone for good.
 *
 * The records are in the store. Every server keeps them, all in the same way and each by compare-and-swap, so that it
 * does not matter who is first. The keeper only plans; whoever calls it writes, and a write that lost its race needs
 * nothing more: the next step sees what won.
 */
import { encodeServedRecord, servedRecordKey, type ServedRecord, type StoredServedRecord } from "./served-record.ts";
import type { Departed, ResourceQuestion } from "./view.ts";

/**
 * The run of each live server, this one included, by server ID. Undefined: its lease lives, but which run it is has not
 * been seen yet, and none of its records counts as departed.
 */
export type LiveIncarnations = ReadonlyMap<string, string | undefined>;

export interface DepartedIndex {
  /** Who served it last, if nobody live does: that is for the caller to know. */
  find(question: ResourceQuestion): Departed | undefined;
}

interface DepartedIndexOptions {
  readonly records: readonly ServedRecord[];
  readonly live: LiveIncarnations;
  /** RFC 3339: stands for the departure of those that nobody has noted yet. */
  readonly noticedAt: string;
}

export function createDepartedIndex({ records, live, noticedAt }: DepartedIndexOptions): DepartedIndex {
  const byGroupVersion = new Map<string, Map<string, Departed>>();
  for (const record of records) {
    if (isLive(live, record)) continue;
    const departed = {
      serverId: record.serverId,
      release: record.release,
      departedAt: record.departedAt ?? noticedAt,
    };
    for (const [groupVersion, names] of record.resources) {
      const byName = byGroupVersion.get(groupVersion) ?? new Map<string, Departed>();
      byGroupVersion.set(groupVersion, byName);
      for (const name of names) keepLatest(byName, name, departed);
    }
  }
  return {
    find: ({ group, version, resource, subresource }) =>
      byGroupVersion.get(`${group}/${version}`)?.get(subresource === "" ? resource : `${resource}/${subresource}`),
  };
}

function keepLatest(byName: Map<string, Departed>, name: string, departed: Departed): void {
  const other = byName.get(name);
  if (other === undefined || other.departedAt < departed.departedAt) byName.set(name, departed);
}

interface KeeperOptions {
  readonly storageRoot: string;
  /** Wall clock, for the time people read. */
  readonly now: () => number;
  readonly monotonic: () => number;
  readonly graceMs?: number;
  /** A server's record is there before its lease is: one never seen alive is given this long. */
  readonly joinMs?: number;
}

export interface KeeperInput {
  readonly records: readonly StoredServedRecord[];
  readonly live: LiveIncarnations;
  /** While it is not, nothing is concluded and no time passes. */
  readonly isWatchAlive: boolean;
  /** This server's own, put back if somebody took it for departed and noted that or deleted it. */
  readonly own: ServedRecord;
  /** Of live peers that write no record (kube-apiserver), as their last documents say. */
  readonly unrecorded: readonly ServedRecord[];
}

export type KeeperWrite =
  | { readonly kind: "put"; readonly key: string; readonly value: Buffer; readonly expectedRevision: number }
  | { readonly kind: "delete"; readonly key: string; readonly expectedRevision: number };

const GRACE_MS = 10 * 60_000;
const JOIN_MS = 60_000;
const UNRECORDED_MAX = 1_000;

/**
 * - live: its run goes on. Somebody may have noted a departure all the same; such a note is none.
 * - joining: not seen alive, nor noted as departed.
 * - departed: noted; to be deleted when the grace has passed.
 */
type State =
  | { readonly name: "live"; readonly falseNote: string | undefined }
  | { readonly name: "joining"; readonly sinceMs: number }
  | { readonly name: "departed"; readonly sinceMs: number };

export class DepartedKeeper {
  readonly #options: Required<KeeperOptions>;
  #states = new Map<string, State>();
  /** Peers that write no record, until one about them is in the store. */
  readonly #unrecorded = new Map<string, ServedRecord>();
  /** Time during which the store's watch was alive. */
  #watchedMs = 0;
  #lastStepMs: number | undefined;

  constructor(options: KeeperOptions) {
    this.#options = { graceMs: GRACE_MS, joinMs: JOIN_MS, ...options };
  }

  /** Peers that write no record and are in no record yet: one that leaves before the next step is known all the same. */
  get remembered(): readonly ServedRecord[] {
    return [...this.#unrecorded.values()];
  }

  /** To be called whenever what peers serve may have changed. */
  remember(unrecorded: readonly ServedRecord[]): void {
    const { storageRoot } = this.#options;
    for (const record of unrecorded) {
      if (this.#unrecorded.size < UNRECORDED_MAX) this.#unrecorded.set(servedRecordKey(storageRoot, record), record);
    }
  }

  step(input: KeeperInput): readonly KeeperWrite[] {
    if (!this.#passTime(input.isWatchAlive)) return [];
    const keys = new Set(input.records.map(({ key }) => key));
    const states = new Map<string, State>();
    const writes: KeeperWrite[] = [];
    for (const stored of input.records) {
      const state = this.#nextState(stored, input);
      states.set(stored.key, state);
      writes.push(...this.#writesFor(stored, state, isRunning(input, stored.record)));
    }
    this.#states = states;
    writes.push(...redundantOnes(input.records, states));
    return [...writes, ...this.#keepOwn(input), ...this.#recordOthers(input, keys)];
  }

  /** Whoever starts later cannot tell a false note from a true one, and would take it for the time of the departure. */
  #keepOwn({ records, own }: KeeperInput): KeeperWrite[] {
    const ownKey = servedRecordKey(this.#options.storageRoot, own);
    const stored = records.find(({ key }) => key === ownKey);
    if (stored !== undefined && stored.record.departedAt === undefined) return [];
    return this.#put(own, stored?.revision ?? 0);
  }

  #passTime(isWatchAlive: boolean): boolean {
    const nowMs = this.#options.monotonic();
    if (isWatchAlive && this.#lastStepMs !== undefined) this.#watchedMs += nowMs - this.#lastStepMs;
    this.#lastStepMs = isWatchAlive ? nowMs : undefined;
    return isWatchAlive;
  }

  #nextState({ key, record }: StoredServedRecord, input: KeeperInput): State {
    const state = this.#states.get(key);
    if (isRunning(input, record)) return { name: "live", falseNote: record.departedAt };
    if (state?.name === "departed") return state;
    const isNoted =
      record.departedAt !== undefined && (state?.name !== "live" || record.departedAt !== state.falseNote);
    if (isNoted) return { name: "departed", sinceMs: this.#watchedMs };
    return state ?? { name: "joining", sinceMs: this.#watchedMs };
  }

  #writesFor({ key, revision, record }: StoredServedRecord, state: State, isStillRunning: boolean): KeeperWrite[] {
    const { graceMs, joinMs, now } = this.#options;
    if (isStillRunning) return [];
    if (state.name === "departed") {
      const isOver = this.#watchedMs - state.sinceMs >= graceMs;
      return isOver ? [{ kind: "delete", key, expectedRevision: revision }] : [];
    }
    if (state.name === "joining" && this.#watchedMs - state.sinceMs < joinMs) return [];
    return this.#put({ ...record, departedAt: timestamp(now()) }, revision);
  }

  #recordOthers(input: KeeperInput, keys: ReadonlySet<string>): KeeperWrite[] {
    const { now } = this.#options;
    this.remember(input.unrecorded);
    const writes: KeeperWrite[] = [];
    for (const [key, record] of this.#unrecorded) {
      if (isLive(input.live, record)) continue;
      const put = this.#put({ ...record, departedAt: timestamp(now()) }, 0);
      if (keys.has(key) || put.length === 0) this.#unrecorded.delete(key);
      else writes.push(...put);
    }
    return writes;
  }

  /** None for what could not be read again. */
  #put(record: ServedRecord, expectedRevision: number): KeeperWrite[] {
    const value = encodeServedRecord(record);
    if (value === undefined) return [];
    return [{ kind: "put", key: servedRecordKey(this.#options.storageRoot, record), value, expectedRevision }];
  }
}

/**
 * Of those noted as departed that say the same, the one noted last tells all there is to tell. So a server that starts
 * over and over, and never lives for as long as the grace, does not fill the store. Which is the last the store says:
 * times were written by different clocks, and all servers must keep the same one.
 */
function redundantOnes(records: readonly StoredServedRecord[], states: ReadonlyMap<string, State>): KeeperWrite[] {
  const departed = records.filter(({ key }) => states.get(key)?.name === "departed");
  if (departed.length < 2) return [];
  const bySaid = Map.groupBy(departed, ({ record }) => JSON.stringify([...record.resources]));
  return [...bySaid.values()].flatMap((same) => {
    const lastRevision = Math.max(...same.map(({ revision }) => revision));
    return same
      .filter(({ revision }) => revision !== lastRevision)
      .map(({ key, revision }): KeeperWrite => ({ kind: "delete", key, expectedRevision: revision }));
  });
}

export function isLive(live: LiveIncarnations, { serverId, incarnation }: ServedRecord): boolean {
  if (!live.has(serverId)) return false;
  const current = live.get(serverId);
  return current === undefined || current === incarnation;
}

/** Whoever asks is alive, whatever the leases say. */
function isRunning({ live, own }: KeeperInput, record: ServedRecord): boolean {
  const isOwn = record.serverId === own.serverId && record.incarnation === own.incarnation;
  return isOwn || isLive(live, record);
}

function timestamp(ms: number): string {
  return new Date(ms).toISOString();
}
