/**
 * The records that servers write directly to the store, held in memory, so that no request has to read them from the
 * store. The watch of the store fills the table.
 */
import type { BackgroundTask } from "../../base/background.ts";
import type { Clock } from "../../base/clock.ts";
import type { Log } from "../../base/log.ts";
import { messageOf } from "../../base/within.ts";
import type { WatchCache } from "../../storage/watch-cache/cache.ts";
import { parseEntry, type Entry } from "../../storage/watch-cache/entry.ts";
import { watchPrefix } from "../../storage/watch-cache/watch-prefix.ts";

/** One kind of record: where it is stored, and how it is decoded. */
export interface RecordKind<Stored> {
  /** Used in log messages, such as "endpoint record". */
  readonly name: string;
  readonly prefix: string;
  /** Maximum number of records. Further records are ignored. */
  readonly recordsMax: number;
  /** The ID in a key under the prefix; undefined if the key belongs to no record. */
  readonly idOf: (key: string) => string | undefined;
  /** Undefined if the value is not a valid record. */
  readonly decode: (id: string, value: unknown) => Stored | undefined;
  /** Whether two records have the same content. A change that only counts writes is none. */
  readonly isSame: (left: Stored, right: Stored) => boolean;
}

export class RecordTable<Stored> {
  readonly #kind: RecordKind<Stored>;
  readonly #log: Log;
  /** Records by ID. The value is undefined if the store has an invalid record. */
  readonly #records = new Map<string, Stored | undefined>();
  /** The revision at which each record was last written. */
  readonly #revisions = new Map<string, number>();
  readonly #listeners = new Set<() => void>();
  #isLoaded = false;

  constructor(kind: RecordKind<Stored>, log: Log) {
    this.#kind = kind;
    this.#log = log;
  }

  /** Whether all records that existed at the start have been read. */
  get isLoaded(): boolean {
    return this.#isLoaded;
  }

  upsert(key: string, value: unknown, revision = 0): void {
    if (this.#set(key, value, revision)) this.#notify();
  }

  remove(key: string): void {
    const id = this.#kind.idOf(key);
    if (id !== undefined && this.#delete(id)) this.#notify();
  }

  /** Replaces all records. The first call also counts as a change, because the table is loaded then. */
  reset(all: Iterable<readonly [key: string, value: unknown, revision?: number]>): void {
    const entries = [...all];
    const ids = new Set(entries.map(([key]) => this.#kind.idOf(key)));
    let isChanged = !this.#isLoaded;
    this.#isLoaded = true;
    for (const id of this.#records.keys()) if (!ids.has(id)) isChanged = this.#delete(id) || isChanged;
    for (const [key, value, revision = 0] of entries) isChanged = this.#set(key, value, revision) || isChanged;
    if (isChanged) this.#notify();
  }

  get(id: string): Stored | undefined {
    return this.#records.get(id);
  }

  /** Whether the store holds any value under the key of this ID, even an invalid one. */
  has(id: string): boolean {
    return this.#records.has(id);
  }

  /** Whether the record under the key has been read at this revision or a later one. True for keys that are ignored. */
  hasSeen(key: string, revision: number): boolean {
    const id = this.#kind.idOf(key);
    if (id === undefined) return true;
    const seen = this.#revisions.get(id);
    return seen === undefined ? this.#records.size >= this.#kind.recordsMax : seen >= revision;
  }

  /** All valid records, sorted by ID. */
  all(): Stored[] {
    return [...this.#records]
      .sort(([left], [right]) => (left < right ? -1 : 1))
      .flatMap(([, record]) => (record === undefined ? [] : [record]));
  }

  /** Called when a record has been added, removed or changed. The returned function removes the listener. */
  onChange(listener: () => void): () => void {
    this.#listeners.add(listener);
    return () => void this.#listeners.delete(listener);
  }

  /** Keeps the table in sync with the store. */
  follow(cache: WatchCache, clock: Clock): BackgroundTask {
    const value = (entry: Entry): unknown => (entry.corrupt === undefined ? parseEntry(entry) : undefined);
    return watchPrefix({
      cache,
      clock,
      prefix: this.#kind.prefix,
      table: {
        reset: (entries) => this.reset(entries.map((entry) => [entry.key, value(entry), entry.modRevision] as const)),
        put: (entry) => this.upsert(entry.key, value(entry), entry.modRevision),
        remove: (key) => this.remove(key),
      },
    });
  }

  #delete(id: string): boolean {
    this.#revisions.delete(id);
    return this.#records.delete(id);
  }

  /** Returns whether the table has changed. */
  #set(key: string, value: unknown, revision: number): boolean {
    const { idOf, decode, isSame, recordsMax, name } = this.#kind;
    const id = idOf(key);
    if (id === undefined) return false;
    const isNew = !this.#records.has(id);
    if (isNew && this.#records.size >= recordsMax) return false;
    const before = this.#records.get(id);
    const record = decode(id, value);
    this.#records.set(id, record);
    this.#revisions.set(id, revision);
    if (record === undefined && (isNew || before !== undefined)) this.#log.warn(`invalid ${name}`, { id });
    if (isNew) return true;
    return record === undefined || before === undefined ? record !== before : !isSame(before, record);
  }

  #notify(): void {
    for (const listener of this.#listeners) {
      try {
        listener();
      } catch (thrown) {
        this.#log.error(`${this.#kind.name} listener failed`, { error: messageOf(thrown) });
      }
    }
  }
}
