/**
 * Tracks departed resources: those that a server of this cluster served in a run that has ended. Requests for them
 * return 503 during a grace period, because clients would treat a 404 as proof that the resource and its objects no
 * longer exist.
 *
 * The records are in the store. Every server maintains all of them by the same rules and with compare-and-swap, so it
 * does not matter which server is first. The keeper only plans writes; its caller performs them. A write that conflicts
 * is not repeated, because the next step sees the write of the other server.
 */
import type { Liveness } from "./live-servers.ts";
import { encodeServedRecord, servedRecordKey, type ServedRecord, type StoredServedRecord } from "./served-record.ts";
import type { Departed, GoneServer, ResourceQuestion } from "./view.ts";

/**
 * The current run of each live server, including this one, by server ID. The value is undefined if the server has a
 * valid lease but its run is not known yet: then none of its records counts as departed.
 */
export type LiveIncarnations = ReadonlyMap<string, string | undefined>;

/** The current runs of this server, of the live servers, and of those that have been starting for long. */
export function liveIncarnations(
  self: { readonly id: string; readonly incarnation: string },
  { servers, overdue }: Pick<Liveness, "servers" | "overdue">,
): LiveIncarnations {
  return new Map([...overdue, ...servers, self].map(({ id, incarnation }) => [id, incarnation]));
}

export interface DepartedIndex {
  /** The server that served the resource last. Callers must check that no live server serves it. */
  find(question: ResourceQuestion): Departed | undefined;
}

/** The ends of runs that are not live. */
export interface Departures {
  /** RFC 3339. The same value for a run whenever it is asked for. */
  departedAt(record: ServedRecord): string;
  /** False for a run that was never seen live and whose departure nobody has noted: its server may be joining. */
  hasEnded(record: ServedRecord): boolean;
}

interface DepartedIndexOptions {
  readonly records: readonly ServedRecord[];
  readonly live: LiveIncarnations;
  readonly departures: Departures;
}

export function createDepartedIndex({ records, live, departures }: DepartedIndexOptions): DepartedIndex {
  const byGroupVersion = new Map<string, Map<string, Ending>>();
  for (const record of records) {
    if (isLive(live, record)) continue;
    const { serverId, calledAt, release } = record;
    const departed = { serverId, calledAt, release, departedAt: departures.departedAt(record) };
    const ending = { departed, hasEnded: departures.hasEnded(record) };
    for (const [groupVersion, names] of record.resources) {
      const byName = byGroupVersion.get(groupVersion) ?? new Map<string, Ending>();
      byGroupVersion.set(groupVersion, byName);
      for (const name of names) keepLatest(byName, name, ending);
    }
  }
  return {
    find: ({ group, version, resource, subresource }) =>
      byGroupVersion.get(`${group}/${version}`)?.get(subresource === "" ? resource : `${resource}/${subresource}`)
        ?.departed,
  };
}

interface Ending {
  readonly departed: Departed;
  readonly hasEnded: boolean;
}

/**
 * The servers that departed within their grace period and have not returned, with their last departure, sorted by ID. A
 * server that has written its record and not its lease yet is not among them.
 */
export function goneServers({ records, live, departures }: DepartedIndexOptions): GoneServer[] {
  const gone = new Map<string, GoneServer>();
  for (const record of records) {
    const { serverId, calledAt, release, isGraceful = false } = record;
    if (live.has(serverId) || !departures.hasEnded(record)) continue;
    const departedAt = departures.departedAt(record);
    const known = gone.get(serverId);
    if (known === undefined || known.departedAt < departedAt)
      gone.set(serverId, { serverId, calledAt, release, departedAt, isGraceful });
  }
  return [...gone.values()].sort((left, right) => (left.serverId < right.serverId ? -1 : 1));
}

/** A run that has ended comes before one whose server may be joining. */
function keepLatest(byName: Map<string, Ending>, name: string, ending: Ending): void {
  const other = byName.get(name);
  const isLater =
    other === undefined ||
    (ending.hasEnded === other.hasEnded ? other.departed.departedAt < ending.departed.departedAt : ending.hasEnded);
  if (isLater) byName.set(name, ending);
}

interface KeeperOptions {
  readonly storageRoot: string;
  /** The wall clock, for timestamps that people read. */
  readonly now: () => number;
  readonly monotonic: () => number;
  readonly graceMs?: number;
  /** How long a server that has a record but no lease counts as joining. Servers write the record before the lease. */
  readonly joinMs?: number;
}

export interface KeeperInput {
  readonly records: readonly StoredServedRecord[];
  readonly live: LiveIncarnations;
  /** While false, the keeper notes no departure and counts no time. */
  readonly isWatchAlive: boolean;
  /** The record of this server. It is written again if a peer noted in it that this server departed, or deleted it. */
  readonly own: ServedRecord;
  /** Records for live peers that write none (kube-apiserver), made from their last discovery documents. */
  readonly unrecorded: readonly ServedRecord[];
}

export type KeeperWrite =
  | {
      readonly kind: "put";
      readonly key: string;
      readonly value: Buffer;
      readonly expectedRevision: number;
      /** The store deletes the key after this time. Absent if the key stays. */
      readonly ttlSeconds?: number;
    }
  | {
      readonly kind: "delete";
      readonly key: string;
      readonly expectedRevision: number;
      readonly guards?: readonly { readonly key: string; readonly revision: number }[];
    };

const GRACE_MS = 10 * 60_000;
const JOIN_MS = 60_000;
const UNRECORDED_MAX = 1_000;

/**
 * - live: the run continues, or it has ended and its departure is not noted yet. A departure noted while the run
 *   continued is wrong (`falseNote`).
 * - joining: the run was never seen live, and no departure is noted.
 * - departed: a departure is noted. The store deletes the record after the grace period; a server deletes it if the
 *   record has no TTL, because an older version of the server noted the departure.
 */
type State =
  | { readonly name: "live"; readonly falseNote: string | undefined }
  | { readonly name: "joining"; readonly sinceMs: number }
  | { readonly name: "departed"; readonly sinceMs: number };

export class DepartedKeeper implements Departures {
  readonly #options: Required<KeeperOptions>;
  #states = new Map<string, State>();
  /** When this server noticed that a run is not live, by the key of its record. */
  readonly #noticedAt = new Map<string, string>();
  /** Records for peers that write none, until the store has a record of them. */
  readonly #unrecorded = new Map<string, ServedRecord>();
  /** The time during which the store watch was alive. */
  #watchedMs = 0;
  #lastStepMs: number | undefined;

  constructor(options: KeeperOptions) {
    this.#options = { graceMs: GRACE_MS, joinMs: JOIN_MS, ...options };
  }

  /**
   * Records for peers that write none and have none in the store yet. They are kept, because the peer may depart before
   * the next step.
   */
  get remembered(): readonly ServedRecord[] {
    return [...this.#unrecorded.values()];
  }

  /** The time noted in the record, or else the time at which this server noticed that the run is not live. */
  departedAt(record: ServedRecord): string {
    const key = this.#keyOf(record);
    const state = this.#states.get(key);
    const isFalseNote = state?.name === "live" && state.falseNote === record.departedAt;
    if (record.departedAt !== undefined && !isFalseNote) return record.departedAt;
    const noticedAt = this.#noticedAt.get(key) ?? timestamp(this.#options.now());
    this.#noticedAt.set(key, noticedAt);
    return noticedAt;
  }

  hasEnded(record: ServedRecord): boolean {
    const key = this.#keyOf(record);
    const wasLive = this.#states.get(key)?.name === "live" || this.#unrecorded.has(key);
    return record.departedAt !== undefined || record.isGraceful === true || wasLive;
  }

  #keyOf(record: ServedRecord): string {
    return servedRecordKey(this.#options.storageRoot, record);
  }

  /** Forgets the departures that were noted, because the store has another history. */
  forget(): void {
    this.#states = new Map();
  }

  /** Must be called whenever the resources that peers serve may have changed. */
  remember(unrecorded: readonly ServedRecord[]): void {
    for (const record of unrecorded)
      if (this.#unrecorded.size < UNRECORDED_MAX) this.#unrecorded.set(this.#keyOf(record), record);
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
    this.#forgetNoticed(input);
    writes.push(...redundantOnes(input.records, states));
    return [...writes, ...this.#keepOwn(input), ...this.#recordOthers(input, keys)];
  }

  /** A run that is live again departs at another time. */
  #forgetNoticed(input: KeeperInput): void {
    const runs = [...input.records.map(({ record }) => record), ...this.#unrecorded.values()];
    const ended = new Set(runs.filter((run) => !isRunning(input, run)).map((run) => this.#keyOf(run)));
    for (const key of this.#noticedAt.keys()) if (!ended.has(key)) this.#noticedAt.delete(key);
  }

  /**
   * Writes the record of this server if it is missing or has a departure noted. A server that starts later could not
   * tell that the departure was false.
   */
  #keepOwn({ records, own }: KeeperInput): KeeperWrite[] {
    const ownKey = this.#keyOf(own);
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
    const { graceMs, joinMs } = this.#options;
    if (isStillRunning) return [];
    if (state.name === "departed") {
      const isOver = this.#watchedMs - state.sinceMs >= graceMs;
      return isOver ? [{ kind: "delete", key, expectedRevision: revision }] : [];
    }
    if (state.name === "joining" && this.#watchedMs - state.sinceMs < joinMs) return [];
    return this.#put({ ...record, departedAt: this.departedAt(record) }, revision);
  }

  #recordOthers(input: KeeperInput, keys: ReadonlySet<string>): KeeperWrite[] {
    this.remember(input.unrecorded);
    const writes: KeeperWrite[] = [];
    for (const [key, record] of this.#unrecorded) {
      if (isLive(input.live, record)) continue;
      const put = this.#put({ ...record, departedAt: this.departedAt(record) }, 0);
      if (keys.has(key) || put.length === 0) this.#unrecorded.delete(key);
      else writes.push(...put);
    }
    return writes;
  }

  /**
   * Returns no write if the record cannot be encoded. The store counts the grace period of a departed run, so that it
   * is the same for all servers and their restarts.
   */
  #put(record: ServedRecord, expectedRevision: number): KeeperWrite[] {
    const value = encodeServedRecord(record);
    if (value === undefined) return [];
    const ttl = record.departedAt === undefined ? {} : { ttlSeconds: Math.ceil(this.#options.graceMs / 1000) };
    return [{ kind: "put", key: this.#keyOf(record), value, expectedRevision, ...ttl }];
  }
}

/** Maximum number of departed records with the same resources, for servers that get another ID with each restart. */
const EQUAL_RECORDS_MAX = 16;

/**
 * Of several departed records of a server with the same resources, only the one noted last is kept, so that a server
 * that restarts repeatedly within the grace period does not fill the store. The revision in the store decides which is
 * last, because the times come from different clocks and all servers must keep the same record.
 */
function redundantOnes(records: readonly StoredServedRecord[], states: ReadonlyMap<string, State>): KeeperWrite[] {
  const departed = records.filter(({ key }) => states.get(key)?.name === "departed");
  if (departed.length < 2) return [];
  const bySaid = Map.groupBy(departed, ({ record }) => JSON.stringify([...record.resources]));
  return [...bySaid.values()].flatMap((same) => {
    const [last, ...others] = same.toSorted((left, right) => right.revision - left.revision);
    if (last === undefined) return [];
    const kept = new Set([last.record.serverId]);
    // If the newest record has changed since this server read it, the others may still be needed.
    const guards = [{ key: last.key, revision: last.revision }];
    return others
      .filter(({ record: { serverId } }) => {
        const isRedundant = kept.has(serverId) || kept.size >= EQUAL_RECORDS_MAX;
        kept.add(serverId);
        return isRedundant;
      })
      .map(({ key, revision }): KeeperWrite => ({ kind: "delete", key, expectedRevision: revision, guards }));
  });
}

export function isLive(live: LiveIncarnations, { serverId, incarnation }: ServedRecord): boolean {
  if (!live.has(serverId)) return false;
  const current = live.get(serverId);
  return current === undefined || current === incarnation;
}

/** Whether the run continues. The current run of this server always counts as live, even without a lease. */
function isRunning({ live, own }: KeeperInput, record: ServedRecord): boolean {
  const isOwn = record.serverId === own.serverId && record.incarnation === own.incarnation;
  return isOwn || isLive(live, record);
}

function timestamp(ms: number): string {
  return new Date(ms).toISOString();
}
