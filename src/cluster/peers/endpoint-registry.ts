/**
 * Writes and reads endpoint records: the writer keeps the record of this server in the store, and the table holds the
 * records of all servers in memory, so that no request has to read the address of a peer from the store.
 */
import { eitherSignal } from "../../base/either-signal.ts";
import { sleep, type Clock } from "../../base/clock.ts";
import type { Log } from "../../base/log.ts";
import type { Random } from "../../base/random.ts";
import { jsonEquals, type JsonObject } from "../../meta/json.ts";
import {
  decodeEndpointRecord,
  encodeEndpointRecord,
  endpointKey,
  endpointKeyId,
  type EndpointRecord,
} from "./endpoint-record.ts";
import type { PeerTiming } from "./timing.ts";
import { messageOf, within } from "../../base/within.ts";

/** Maximum number of records: more than any cluster has servers. Further records are ignored. */
const RECORDS_MAX = 1_000;

/** The table, which the watch of the store fills. Keys that belong to no server are ignored. */
export class EndpointTable {
  readonly #options: { readonly storageRoot: string; readonly log: Log };
  /** Records by server ID. The value is undefined if the store has an invalid record. */
  readonly #records = new Map<string, EndpointRecord | undefined>();
  readonly #listeners = new Set<() => void>();

  constructor(options: { readonly storageRoot: string; readonly log: Log }) {
    this.#options = options;
  }

  upsert(key: string, stored: unknown): void {
    if (this.#set(key, stored)) this.#tell();
  }

  remove(key: string): void {
    const id = endpointKeyId(this.#options.storageRoot, key);
    if (id !== undefined && this.#records.delete(id)) this.#tell();
  }

  /** Replaces all records. */
  reset(all: Iterable<readonly [key: string, stored: unknown]>): void {
    const { storageRoot } = this.#options;
    const entries = [...all];
    const ids = new Set(entries.map(([key]) => endpointKeyId(storageRoot, key)));
    let isChanged = false;
    for (const id of this.#records.keys()) if (!ids.has(id)) isChanged = this.#records.delete(id) || isChanged;
    for (const [key, stored] of entries) isChanged = this.#set(key, stored) || isChanged;
    if (isChanged) this.#tell();
  }

  get(id: string): EndpointRecord | undefined {
    return this.#records.get(id);
  }

  /**
   * Whether the store holds any value under the key of the server with this ID, even an invalid one. A record expires
   * soon after its server stops, so it shows that the server was live a moment ago.
   */
  has(id: string): boolean {
    return this.#records.has(id);
  }

  /** All valid records, sorted by server ID. */
  all(): EndpointRecord[] {
    const records = [...this.#records.values()].filter((record) => record !== undefined);
    return records.sort((left, right) => (left.id < right.id ? -1 : 1));
  }

  /**
   * Adds a listener that is called when a record has been added, removed or changed. The returned function removes it.
   */
  onChange(listener: () => void): () => void {
    this.#listeners.add(listener);
    return () => void this.#listeners.delete(listener);
  }

  /** Returns whether the table has changed. */
  #set(key: string, stored: unknown): boolean {
    const id = endpointKeyId(this.#options.storageRoot, key);
    if (id === undefined) return false;
    const isNew = !this.#records.has(id);
    if (isNew && this.#records.size >= RECORDS_MAX) return false;
    const before = this.#records.get(id);
    const record = decodeEndpointRecord(id, stored);
    this.#records.set(id, record);
    if (record === undefined && (isNew || before !== undefined))
      this.#options.log.warn("invalid endpoint record", { server: id });
    return isNew || !isSame(before, record);
  }

  #tell(): void {
    for (const listener of this.#listeners) {
      try {
        listener();
      } catch (thrown) {
        this.#options.log.error("endpoint record listener failed", { error: messageOf(thrown) });
      }
    }
  }
}

/** Compares the content without the generation, which only counts writes. */
function isSame(left: EndpointRecord | undefined, right: EndpointRecord | undefined): boolean {
  if (left === undefined || right === undefined) return left === right;
  return jsonEquals({ ...left, generation: 0 }, { ...right, generation: 0 });
}

/**
 * The store operations that the writer needs. An operation that fails rejects, and the writer retries it, except
 * `revoke`. After the signal has aborted, only a request already in flight may still write, and it must not overwrite a
 * later write.
 */
export interface EndpointStore {
  /** Grants a store lease that expires this long after its last `keepAlive`. */
  grantLease(ttlSeconds: number, signal: AbortSignal): Promise<string>;
  keepAlive(lease: string, signal: AbortSignal): Promise<"alive" | "gone">;
  /** Overwrites any value, and attaches the key to this lease instead of the previous one. */
  put(
    write: { readonly key: string; readonly value: JsonObject; readonly lease: string },
    signal: AbortSignal,
  ): Promise<void>;
  /**
   * Revokes the lease and deletes the keys that are still attached to it, so never a record that another process wrote.
   */
  revoke(lease: string, signal: AbortSignal): Promise<void>;
}

type EndpointContent = Omit<EndpointRecord, "generation">;

interface EndpointWriterOptions {
  readonly store: EndpointStore;
  readonly storageRoot: string;
  readonly clock: Clock;
  readonly random: Random;
  readonly log: Log;
  readonly timing: Pick<PeerTiming, "endpointTtlSeconds" | "endpointRefreshMs">;
  readonly content: EndpointContent;
  /** The table that shows the stored record of this server. If the record vanishes, the writer writes it again. */
  readonly table: Pick<EndpointTable, "has" | "get">;
  /** False while another process uses this server's ID. That process then owns the record. */
  readonly isOwner: () => boolean;
}

const RETRY_MS = 1_000;

export class EndpointWriter {
  readonly #options: EndpointWriterOptions;
  readonly #removed = new AbortController();
  #content: EndpointContent;
  /** The content that was last written with `#lease`. */
  #written: EndpointContent | undefined;
  #lease: string | undefined;
  #generation = 0;
  #running: Promise<void> | undefined;
  #pause = new AbortController();
  #waiting: ((isWritten: boolean) => void)[] = [];

  constructor(options: EndpointWriterOptions) {
    this.#options = options;
    this.#content = options.content;
  }

  /** Keeps the record in the store until the signal aborts. Called when peers may send requests to this server. */
  run(signal: AbortSignal): Promise<void> {
    this.#running ??= this.#keep(eitherSignal(signal, this.#removed.signal));
    return this.#running;
  }

  /**
   * Writes the change at once. Resolves to true when the store has it, or to false if that takes too long or the writer
   * has ended.
   */
  async update(change: Partial<Pick<EndpointContent, "state" | "document" | "release">>): Promise<boolean> {
    const changed = { ...this.#content, ...change };
    if (this.#removed.signal.aborted) return false;
    if (!jsonEquals(changed, this.#content)) this.#content = changed;
    if (this.#content === this.#written) return true;
    const { promise, resolve } = Promise.withResolvers<boolean>();
    this.#waiting.push(resolve);
    const cancel = this.#options.clock.after(this.#options.timing.endpointRefreshMs, () => resolve(false));
    this.#pause.abort();
    const isWritten = await promise;
    cancel();
    this.#waiting = this.#waiting.filter((other) => other !== resolve);
    return isWritten;
  }

  /** Ends `run` and deletes the record. It gives up after a time limit, and the record then expires. */
  async remove(): Promise<void> {
    const { store, clock, log, timing } = this.#options;
    this.#removed.abort();
    await this.#running;
    const lease = this.#lease;
    if (lease === undefined) return;
    this.#lease = undefined;
    try {
      await within(clock, timing.endpointRefreshMs, (signal) => store.revoke(lease, signal));
    } catch (thrown) {
      log.warn("endpoint record removal failed", { error: messageOf(thrown) });
    }
  }

  async #keep(signal: AbortSignal): Promise<void> {
    const { clock, random, log, timing } = this.#options;
    const stop = (): void => this.#pause.abort();
    signal.addEventListener("abort", stop, { once: true });
    while (!signal.aborted) {
      this.#pause = new AbortController();
      let waitMs = timing.endpointRefreshMs * (1 - 0.1 * random.float());
      try {
        await within(clock, timing.endpointRefreshMs, (limit) => this.#sync(limit), signal);
        if (this.#content === this.#written) this.#settle(true);
      } catch (thrown) {
        if (signal.aborted) break;
        log.warn("endpoint record write failed", { error: messageOf(thrown) });
        waitMs = Math.min(waitMs, RETRY_MS * (0.5 + random.float() / 2));
      }
      await sleep(clock, waitMs, this.#pause.signal);
    }
    signal.removeEventListener("abort", stop);
    this.#settle(false);
  }

  async #sync(signal: AbortSignal): Promise<void> {
    const { store, timing, table, isOwner } = this.#options;
    if (!isOwner()) {
      this.#written = undefined;
      return;
    }
    if (this.#lease !== undefined) {
      const state = await store.keepAlive(this.#lease, signal);
      signal.throwIfAborted();
      if (state === "gone") this.#lease = undefined;
    }
    if (this.#lease === undefined) {
      this.#written = undefined;
      // If the grant arrives too late, the lease is left to expire: no key is attached to it.
      const lease = await store.grantLease(timing.endpointTtlSeconds, signal);
      signal.throwIfAborted();
      this.#lease = lease;
    }
    if (this.#content !== this.#written || !table.has(this.#content.id)) await this.#put(this.#lease, signal);
  }

  async #put(lease: string, signal: AbortSignal): Promise<void> {
    const { store, storageRoot, table } = this.#options;
    const content = this.#content;
    this.#generation = Math.max(this.#generation, table.get(content.id)?.generation ?? 0) + 1;
    const value = encodeEndpointRecord({ ...content, generation: this.#generation });
    this.#written = undefined;
    await store.put({ key: endpointKey(storageRoot, content.id), value, lease }, signal);
    signal.throwIfAborted();
    this.#written = content;
  }

  #settle(isWritten: boolean): void {
    for (const resolve of this.#waiting.splice(0)) resolve(isWritten);
  }
}
