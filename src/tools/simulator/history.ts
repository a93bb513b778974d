/**
 * Every commit to the store of a simulation, in order and with the server that sent it, and the objects after it. It
 * sees a commit before any server does, so that a checker finds the store at exactly that revision.
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
  /** By the world's clock, when the change left the server. */
  readonly sentAtMs: number;
}

export interface Commit {
  readonly revision: number;
  readonly atMs: number;
  /** Undefined when the store itself ended a lease. */
  readonly sending: SentWrite | undefined;
  /** Below the root. */
  readonly key: string;
  /** Undefined: there was nothing. */
  readonly before: JsonObject | undefined;
  /** Undefined: it was deleted. */
  readonly after: JsonObject | undefined;
}

interface StoreHistoryOptions {
  readonly clock: Clock;
  /** Nobody may have opened the store before. */
  readonly kv: Kv;
  /** Whoever listens failed. */
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

  /** As it is in the store. */
  get(key: string): JsonObject | undefined {
    return this.#objects.get(key);
  }

  /** By key, in the order in which they came. */
  under(prefix: string): [key: string, object: JsonObject][] {
    return [...this.#objects].filter(([key]) => key.startsWith(prefix));
  }

  /** When something that is now on its way left. */
  departure(writer: StoreWriter): SentWrite {
    return { ...writer, sentAtMs: this.#clock.monotonic() };
  }

  /** Does work that commits before it returns its promise. */
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
