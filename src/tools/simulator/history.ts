/**
 * Every commit to the store of a simulation, in order and with the server that sent it, and the objects after it. It
 * receives a commit before any server does, so that a checker sees the store at exactly that revision.
 */
import type { Clock } from "../../base/clock.ts";
import { parseJsonObject, type JsonObject } from "../../meta/json.ts";
import type { Kv, KvEvent } from "../../storage/kv.ts";
import type { Host } from "./host.ts";

export interface StoreWriter {
  readonly serverId: string;
  readonly host: Host;
}

export interface SentWrite extends StoreWriter {
  /** Time at which the server sent the change, by the world's clock. */
  readonly sentAtMs: number;
}

export interface Commit {
  readonly revision: number;
  readonly atMs: number;
  /** Undefined if the store itself expired a lease. */
  readonly sending: SentWrite | undefined;
  /** Key below the root. */
  readonly key: string;
  /** Undefined if the object did not exist. */
  readonly before: JsonObject | undefined;
  /** Undefined if the object was deleted. */
  readonly after: JsonObject | undefined;
}

interface StoreHistoryOptions {
  readonly clock: Clock;
  /** No other handle may have been opened before. */
  readonly kv: Kv;
  /** Called if a listener fails. */
  readonly onFailure: (thrown: unknown) => void;
}

export const STORE_ROOT = "/registry/";

export class StoreHistory {
  readonly #clock: Clock;
  readonly #objects = new Map<string, JsonObject>();
  readonly #listeners: ((commit: Commit) => void)[] = [];
  #sending: SentWrite | undefined;

  constructor({ clock, kv, onFailure }: StoreHistoryOptions) {
    this.#clock = clock;
    kv.watch(
      { prefix: STORE_ROOT, fromRevision: 2 },
      {
        events: (batch) => batch.forEach((event) => this.#add(event)),
        progress: () => {},
        interrupted: () => {},
        closed: (error) => onFailure(error.cause ?? error),
      },
    );
  }

  onCommit(listener: (commit: Commit) => void): void {
    this.#listeners.push(listener);
  }

  /** The stored object. */
  get(key: string): JsonObject | undefined {
    return this.#objects.get(key);
  }

  /** Objects by key prefix, in the order of their creation. */
  under(prefix: string): [key: string, object: JsonObject][] {
    return [...this.#objects].filter(([key]) => key.startsWith(prefix));
  }

  /** Records the time at which a writer sends a change. */
  departure(writer: StoreWriter): SentWrite {
    return { ...writer, sentAtMs: this.#clock.monotonic() };
  }

  /** Executes work that commits before it returns its promise. */
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
    const before = this.#objects.get(key);
    const after = event.kind === "put" ? (parseJsonObject(event.value.toString("utf8")) ?? {}) : undefined;
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
