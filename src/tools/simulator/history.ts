/**
 * Records every commit to the store of a simulation, in order and with the server that sent it, and keeps the current
 * objects. It receives a commit before any server does, so that a checker sees the store at exactly that revision.
 */
import type { Clock } from "../../base/clock.ts";
import { parseJsonObject, type JsonObject } from "../../meta/json.ts";
import { prefixEnd, type Kv, type KvEvent } from "../../storage/kv.ts";
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
  #sending: SentWrite | undefined;

  constructor({ clock, kv, onFailure }: StoreHistoryOptions) {
    this.#clock = clock;
    this.#kv = kv;
    this.#onFailure = onFailure;
    this.#follow(2);
  }

  /** Continues with the restored content of the store. Listeners receive no commit for the difference. */
  async #continueAfterRestore(): Promise<void> {
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
          if (error.code === "history-changed") void this.#continueAfterRestore();
          else this.#onFailure(error.cause ?? error);
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
