/**
 * Records every commit to the store of a simulation, in order and with the server that sent it, and keeps the current
 * objects. It receives a commit before any server does, so that a checker sees the store at exactly that revision.
 *
 * A restore of the store from a backup begins another history: the commits up to the revision of the backup remain, and
 * later ones are lost. Listeners of `onRestore` must forget what they have derived from the lost ones.
 */
import type { Clock } from "../../base/clock.ts";
import { parseJsonObject, type JsonObject } from "../../meta/json.ts";
import { prefixEnd, type Kv, type KvEvent } from "../../storage/kv.ts";
import type { StoreBackup } from "../../storage/kv-memory/store.ts";
import type { Host } from "./host.ts";

export interface StoreWriter {
  readonly serverId: string;
  readonly host: Host;
}

export interface SentWrite extends StoreWriter {
  /** Time at which the server sent the change, by the clock of the world. */
  readonly sentAtMs: number;
}

export interface Commit {
  readonly revision: number;
  readonly atMs: number;
  /** The write of a server; undefined if the store itself deleted the key because its lease expired. */
  readonly sending: SentWrite | undefined;
  /** Key relative to the root of the store. */
  readonly key: string;
  /** The object before the commit; undefined if it did not exist. */
  readonly before: JsonObject | undefined;
  /** The object after the commit; undefined if it was deleted. */
  readonly after: JsonObject | undefined;
}

/** A restore of the store from a backup. */
export interface Restore {
  /** The revision of the backup. */
  readonly revision: number;
  readonly atMs: number;
}

interface StoreHistoryOptions {
  readonly clock: Clock;
  /**
   * A handle of the store. It must be the first one that is opened, so that the history receives commits before all
   * servers.
   */
  readonly kv: Kv;
  /** Called if a listener fails. */
  readonly onFailure: (thrown: unknown) => void;
}

export const STORE_ROOT = "/registry/";

export class StoreHistory {
  readonly #clock: Clock;
  readonly #kv: Kv;
  readonly #onFailure: (thrown: unknown) => void;
  readonly #objects = new Map<string, JsonObject>();
  readonly #listeners: ((commit: Commit) => void)[] = [];
  readonly #restoreListeners: ((restore: Restore) => void)[] = [];
  #sending: SentWrite | undefined;
  #revision = 1;
  #restoredAtMs = -Infinity;
  /** The backup from which the store is being restored. */
  #backup: StoreBackup | undefined;

  constructor({ clock, kv, onFailure }: StoreHistoryOptions) {
    this.#clock = clock;
    this.#kv = kv;
    this.#onFailure = onFailure;
    this.#follow(2);
    kv.onHistoryChange(() => this.#beginHistory());
  }

  /** The revision of the newest commit. */
  get revision(): number {
    return this.#revision;
  }

  /** Time of the last restore; -Infinity if there was none. */
  get restoredAtMs(): number {
    return this.#restoredAtMs;
  }

  onRestore(listener: (restore: Restore) => void): void {
    this.#restoreListeners.push(listener);
  }

  /** Restores the store by `work`, and continues with the content of the backup before any server notices. */
  restore(backup: StoreBackup, work: () => void): void {
    this.#backup = backup;
    try {
      work();
    } finally {
      this.#backup = undefined;
    }
  }

  #beginHistory(): void {
    const backup = this.#backup;
    if (backup === undefined) return;
    this.#revision = backup.revision;
    this.#restoredAtMs = this.#clock.monotonic();
    this.#objects.clear();
    for (const [key, versions] of backup.versions) {
      const value = versions.at(-1)?.value;
      if (value !== undefined && key.startsWith(STORE_ROOT))
        this.#objects.set(key.slice(STORE_ROOT.length), parsed(value));
    }
    this.#follow(backup.revision + 1);
    const restore = { revision: backup.revision, atMs: this.#restoredAtMs };
    for (const listener of this.#restoreListeners) listener(restore);
  }

  /** Continues with the content of a store that was not restored by `restore`. Listeners are not called. */
  async #continueWithContent(): Promise<void> {
    const { items, revision } = await this.#kv.range({ start: STORE_ROOT, end: prefixEnd(STORE_ROOT) });
    this.#objects.clear();
    for (const { key, value } of items) this.#objects.set(key.slice(STORE_ROOT.length), parsed(value));
    this.#follow(revision + 1);
  }

  #follow(fromRevision: number): void {
    this.#kv.watch(
      { prefix: STORE_ROOT, fromRevision },
      {
        events: (batch) => batch.forEach((event) => this.#add(event)),
        progress: () => {},
        interrupted: () => {},
        closed: (error) => {
          if (error.code !== "history-changed") this.#onFailure(error.cause ?? error);
          else if (this.#backup === undefined) void this.#continueWithContent();
        },
      },
    );
  }

  onCommit(listener: (commit: Commit) => void): void {
    this.#listeners.push(listener);
  }

  /** The object that is stored at a key. */
  get(key: string): JsonObject | undefined {
    return this.#objects.get(key);
  }

  /** All objects whose keys have this prefix, in the order of their creation. */
  under(prefix: string): [key: string, object: JsonObject][] {
    return [...this.#objects].filter(([key]) => key.startsWith(prefix));
  }

  /** Records the time at which a writer sends a change. */
  departure(writer: StoreWriter): SentWrite {
    return { ...writer, sentAtMs: this.#clock.monotonic() };
  }

  /** Executes work that commits synchronously, and records `sending` as the writer of the commit. */
  arrival<T>(sending: SentWrite, work: () => Promise<T>): Promise<T> {
    this.#sending = sending;
    try {
      return work();
    } finally {
      this.#sending = undefined;
    }
  }

  #add(event: KvEvent): void {
    const key = event.key.slice(STORE_ROOT.length);
    this.#revision = event.modRevision;
    const before = this.#objects.get(key);
    const after = event.kind === "put" ? parsed(event.value) : undefined;
    if (after === undefined) this.#objects.delete(key);
    else this.#objects.set(key, after);
    const commit: Commit = {
      revision: event.modRevision,
      atMs: this.#clock.monotonic(),
      sending: this.#sending,
      key,
      before,
      after,
    };
    for (const listener of this.#listeners) listener(commit);
  }
}

function parsed(value: Buffer): JsonObject {
  return parseJsonObject(value.toString("utf8")) ?? {};
}
