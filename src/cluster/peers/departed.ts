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

interface DepartedIndexOptions {
  readonly records: readonly ServedRecord[];
  readonly live: LiveIncarnations;
  /** RFC 3339. It is used as the departure time of servers whose departure is not noted in the store yet. */
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

interface GoneOptions extends DepartedIndexOptions {
  /** Whether this server has seen the run live, so that the run has ended even if its departure is not noted yet. */
  readonly hasSeenLive: (record: ServedRecord) => boolean;
}

/**
 * The servers that departed within their grace period and have not returned, with their last departure, sorted by ID. A
 * server that has written its record and not its lease yet is not among them.
 */
export function goneServers({ records, live, noticedAt, hasSeenLive }: GoneOptions): GoneServer[] {
  const gone = new Map<string, GoneServer>();
  for (const record of records) {
    const { serverId, release, departedAt = noticedAt, isGraceful = false } = record;
    const hasEnded = record.departedAt !== undefined || isGraceful || hasSeenLive(record);
    if (live.has(serverId) || !hasEnded) continue;
    const known = gone.get(serverId);
    if (known === undefined || known.departedAt < departedAt)
      gone.set(serverId, { serverId, release, departedAt, isGraceful });
  }
  return [...gone.values()].sort((left, right) => (left.serverId < right.serverId ? -1 : 1));
}

function keepLatest(byName: Map<string, Departed>, name: string, departed: Departed): void {
  const other = byName.get(name);
  if (other === undefined || other.departedAt < departed.departedAt) byName.set(name, departed);
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
  | { readonly kind: "put"; readonly key: string; readonly value: Buffer; readonly expectedRevision: number }
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
 * - departed: a departure is noted, and the record is deleted after the grace period.
 */
type State =
  | { readonly name: "live"; readonly falseNote: string | undefined }
  | { readonly name: "joining"; readonly sinceMs: number }
  | { readonly name: "departed"; readonly sinceMs: number };

export class DepartedKeeper {
  readonly #options: Required<KeeperOptions>;
  #states = new Map<string, State>();
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

  /** Whether the run was live in the last step. */
  hasSeenLive(record: ServedRecord): boolean {
    return this.#states.get(servedRecordKey(this.#options.storageRoot, record))?.name === "live";
  }

  /** Forgets the departures that were noted, because the store has another history. */
  forget(): void {
    this.#states = new Map();
  }

  /** Must be called whenever the resources that peers serve may have changed. */
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

  /**
   * Writes the record of this server if it is missing or has a departure noted. A server that starts later could not
   * tell that the departure was false.
   */
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

  /** Returns no write if the record cannot be encoded. */
  #put(record: ServedRecord, expectedRevision: number): KeeperWrite[] {
    const value = encodeServedRecord(record);
    if (value === undefined) return [];
    return [{ kind: "put", key: servedRecordKey(this.#options.storageRoot, record), value, expectedRevision }];
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
