/**
 * Keeps one record of this server in the store. The key is attached to a store lease, so it disappears soon after the
 * server has crashed, and the server writes it again if it disappears by mistake.
 */
import { eitherSignal } from "../../base/either-signal.ts";
import { sleep, type Clock } from "../../base/clock.ts";
import type { Log } from "../../base/log.ts";
import type { Random } from "../../base/random.ts";
import { jsonEquals, type JsonObject } from "../../meta/json.ts";
import type { PeerTiming } from "./timing.ts";
import { messageOf, within } from "../../base/within.ts";

/**
 * The store operations that the server needs. An operation that fails rejects, and the server retries it. After the
 * signal has aborted, only a request already in flight may still write, and it must not overwrite a later write.
 */
export interface LeasedRecordStore {
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
  /** Calls the listener when the store has another history, so that the record and its lease may be missing. */
  onHistoryChange?(listener: () => void): void;
}

interface LeasedRecordOptions<Content> {
  /** Used in log messages, such as "endpoint record". */
  readonly name: string;
  readonly store: LeasedRecordStore;
  readonly key: string;
  readonly clock: Clock;
  readonly random: Random;
  readonly log: Log;
  readonly timing: Pick<PeerTiming, "endpointTtlSeconds" | "endpointRefreshMs">;
  readonly content: Content;
  encode(content: Content, generation: number): JsonObject;
  /**
   * The generation of the stored record as far as this server knows; undefined if the store has no record. A record
   * that vanishes is written again.
   */
  storedGeneration(): number | undefined;
  /** Called when the store has the record, with the monotonic time at which its lease was renewed or granted at the earliest. */
  readonly onKept?: (startedAtMs: number) => void;
  /** False while another process owns the record. */
  isOwner(): boolean;
}

const RETRY_MS = 1_000;

interface Waiter {
  /** The first attempt whose success counts. */
  readonly attempt: number;
  readonly resolve: (isWritten: boolean) => void;
}

export class LeasedRecord<Content extends object> {
  readonly #options: LeasedRecordOptions<Content>;
  readonly #removed = new AbortController();
  #content: Content;
  /** The content that was last written with `#lease`. */
  #written: Content | undefined;
  #lease: string | undefined;
  #generation = 0;
  #running: Promise<void> | undefined;
  #pause = new AbortController();
  /** The number of attempts to write the record or to keep it alive. */
  #attempts = 0;
  #waiting: Waiter[] = [];

  constructor(options: LeasedRecordOptions<Content>) {
    this.#options = options;
    this.#content = options.content;
    options.store.onHistoryChange?.(() => {
      this.#written = undefined;
      this.#lease = undefined;
      this.#pause.abort();
    });
  }

  /** Keeps the record in the store until the signal aborts. Called when peers may send requests to this server. */
  run(signal: AbortSignal): Promise<void> {
    this.#running = this.#keep(eitherSignal(signal, this.#removed.signal));
    return this.#running;
  }

  /**
   * Writes the change at once. Resolves to true when the store has it, or to false if that takes too long or the server
   * has ended.
   */
  async update(change: Partial<Content>): Promise<boolean> {
    const changed = { ...this.#content, ...change };
    if (this.#removed.signal.aborted) return false;
    if (!jsonEquals(changed, this.#content)) this.#content = changed;
    return this.#content === this.#written || this.#wait(0);
  }

  /**
   * Makes sure that the store has the record now, for example after this process was paused. Resolves to false if that
   * takes too long.
   */
  async confirm(): Promise<boolean> {
    return !this.#removed.signal.aborted && this.#wait(this.#attempts + 1);
  }

  /** Starts an attempt at once. Resolves when this attempt, or a later one, has succeeded or the time limit is over. */
  async #wait(attempt: number): Promise<boolean> {
    const { clock, timing } = this.#options;
    const { promise, resolve } = Promise.withResolvers<boolean>();
    const waiter = { attempt, resolve };
    this.#waiting.push(waiter);
    const cancel = clock.after(timing.endpointRefreshMs, () => resolve(false));
    this.#pause.abort();
    const isWritten = await promise;
    cancel();
    this.#waiting = this.#waiting.filter((other) => other !== waiter);
    return isWritten;
  }

  /** Ends `run` and deletes the record. It gives up after a time limit, and the record then expires. */
  async remove(): Promise<void> {
    const { name, store, clock, log, timing } = this.#options;
    this.#removed.abort();
    await Promise.allSettled([this.#running]);
    const lease = this.#lease;
    if (lease === undefined) return;
    this.#lease = undefined;
    try {
      await within(clock, timing.endpointRefreshMs, (signal) => store.revoke(lease, signal));
    } catch (thrown) {
      log.warn(`${name} removal failed`, { error: messageOf(thrown) });
    }
  }

  async #keep(signal: AbortSignal): Promise<void> {
    const { name, clock, random, log, timing } = this.#options;
    const stop = (): void => this.#pause.abort();
    signal.addEventListener("abort", stop, { once: true });
    while (!signal.aborted) {
      this.#pause = new AbortController();
      let waitMs = timing.endpointRefreshMs * (1 - 0.1 * random.float());
      try {
        const attempt = ++this.#attempts;
        const startedAtMs = clock.monotonic();
        await within(clock, timing.endpointRefreshMs, (limit) => this.#sync(limit), signal);
        if (this.#written !== undefined) this.#options.onKept?.(startedAtMs);
        if (this.#content === this.#written) this.#settle(attempt);
      } catch (thrown) {
        if (signal.aborted) break;
        log.warn(`${name} write failed`, { error: messageOf(thrown) });
        waitMs = Math.min(waitMs, RETRY_MS * (0.5 + random.float() / 2));
      }
      await sleep(clock, waitMs, this.#pause.signal);
    }
    signal.removeEventListener("abort", stop);
    // After a failed run the record is kept by the next one.
    if (this.#removed.signal.aborted) for (const { resolve } of this.#waiting.splice(0)) resolve(false);
  }

  async #sync(signal: AbortSignal): Promise<void> {
    const { store, timing } = this.#options;
    if (!this.#options.isOwner()) {
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
    if (this.#content !== this.#written || this.#options.storedGeneration() === undefined)
      await this.#put(this.#lease, signal);
  }

  async #put(lease: string, signal: AbortSignal): Promise<void> {
    const { store, key } = this.#options;
    const content = this.#content;
    this.#generation = Math.max(this.#generation, this.#options.storedGeneration() ?? 0) + 1;
    const value = this.#options.encode(content, this.#generation);
    this.#written = undefined;
    await store.put({ key, value, lease }, signal);
    signal.throwIfAborted();
    this.#written = content;
  }

  #settle(attempt: number): void {
    for (const waiter of this.#waiting) if (waiter.attempt <= attempt) waiter.resolve(true);
    // A caller that arrived during the attempt waits for the next one, which starts at once.
    if (this.#waiting.some((waiter) => waiter.attempt > attempt)) this.#pause.abort();
  }
}
