/**
 * A queue of keys for the workers of a controller. A key has at most one worker: a key that is added while a worker has
 * it is returned again after `done`. A key identifies an object to reconcile, not an event, so it is queued only once
 * even if it is added repeatedly, and the queue never holds more entries than there are keys.
 */
import type { Cancel, Clock } from "./clock.ts";
import type { Random } from "./random.ts";
import { allSettled } from "./run-together.ts";

export interface WorkQueueHooks {
  /** Called when a key is added that was not queued. */
  onAdd?(key: string): void;
  /** Called by `addRateLimited`, when the wait of a failed key begins. */
  onRetry?(key: string): void;
  onDone?(key: string, took: { readonly waitedMs: number; readonly workedMs: number }): void;
}

export interface WorkQueueOptions {
  readonly clock: Clock;
  readonly random: Random;
  /** The longest wait after repeated failures. Default 60 s. */
  readonly retryMsMax?: number;
  readonly hooks?: WorkQueueHooks;
}

/**
 * The wait after the first failure of a key, doubled by each further failure, as in client-go. Up to half of the wait
 * is subtracted at random.
 */
const RETRY_MS_MIN = 5;
const RETRY_MS_MAX = 60_000;
/** Maximum delay, because timers cannot measure longer delays. A key that is returned too early does no harm. */
const DELAY_MS_MAX = 24 * 3_600_000;

interface InWork {
  readonly waitedMs: number;
  readonly sinceMs: number;
  /** The time at which the key was added again while a worker had it. */
  addedAtMs: number | undefined;
}

export class WorkQueue {
  readonly #clock: Clock;
  readonly #random: Random;
  readonly #retryMsMax: number;
  readonly #hooks: WorkQueueHooks;
  /** Queued keys in the order in which they are returned, each with the time it was added. */
  readonly #waiting = new Map<string, number>();
  readonly #inWork = new Map<string, InWork>();
  readonly #delayed = new Map<string, { readonly dueAtMs: number; readonly cancel: Cancel }>();
  readonly #failures = new Map<string, number>();
  readonly #workers: ((key: string | undefined) => void)[] = [];
  #isClosed = false;
  /** Between two calls of `run` a queue keeps its keys, but hands out none. */
  #isPaused = false;

  constructor(options: WorkQueueOptions) {
    this.#clock = options.clock;
    this.#random = options.random;
    this.#retryMsMax = options.retryMsMax ?? RETRY_MS_MAX;
    this.#hooks = options.hooks ?? {};
  }

  /** Number of keys that can be returned now. Does not count keys that a worker has, nor delayed keys. */
  get length(): number {
    return this.#waiting.size;
  }

  add(key: string): void {
    if (this.#isClosed || this.#waiting.has(key)) return;
    const inWork = this.#inWork.get(key);
    const nowMs = this.#clock.monotonic();
    if (inWork === undefined) this.#waiting.set(key, nowMs);
    else if (inWork.addedAtMs === undefined) inWork.addedAtMs = nowMs;
    else return;
    this.#hooks.onAdd?.(key);
    this.#handOut();
  }

  /** Adds a key after a delay. Of several delays of one key, the one that ends first counts. */
  addAfter(key: string, delayMs: number): void {
    if (this.#isClosed) return;
    // The queue has no timers between two runs. A key that is returned too early does no harm.
    if (this.#isPaused) return this.add(key);
    const waitMs = Number.isNaN(delayMs) ? 0 : Math.min(Math.max(delayMs, 0), DELAY_MS_MAX);
    const dueAtMs = this.#clock.monotonic() + waitMs;
    const before = this.#delayed.get(key);
    if (before !== undefined && before.dueAtMs <= dueAtMs) return;
    before?.cancel();
    const cancel = this.#clock.after(waitMs, () => {
      this.#delayed.delete(key);
      this.add(key);
    });
    this.#delayed.set(key, { dueAtMs, cancel });
  }

  /** Adds a key after a failure. The wait doubles with each failure until `forget`, up to the maximum. */
  addRateLimited(key: string): void {
    if (this.#isClosed) return;
    const failures = this.retries(key);
    this.#failures.set(key, failures + 1);
    const waitMs = Math.min(RETRY_MS_MIN * 2 ** failures, this.#retryMsMax);
    this.#hooks.onRetry?.(key);
    this.addAfter(key, waitMs * (0.5 + this.#random.float() / 2));
  }

  /** Resets the failures of a key, so that its next failure counts as the first. */
  forget(key: string): void {
    this.#failures.delete(key);
  }

  /** Number of `addRateLimited` calls for the key since `forget`. */
  retries(key: string): number {
    return this.#failures.get(key) ?? 0;
  }

  /**
   * Calls `work` for each key, for at most `workers` keys at a time, until the signal aborts. If a call throws, the
   * other workers end after their current keys, and the promise rejects. The queue keeps the keys that are left, and can
   * run again.
   */
  async run(workers: number, work: (key: string) => Promise<void>, signal: AbortSignal): Promise<void> {
    this.#resume();
    const pause = (): void => this.#pause();
    signal.addEventListener("abort", pause, { once: true });
    if (signal.aborted) pause();
    const worker = async (): Promise<void> => {
      try {
        for (let key = await this.next(); key !== undefined; key = await this.next()) await this.#workOn(key, work);
      } finally {
        pause();
      }
    };
    await allSettled(Array.from({ length: workers }, worker));
    signal.removeEventListener("abort", pause);
  }

  /** Resolves to the next key, for which the caller must call `done`; to undefined once the queue is closed. */
  next(): Promise<string | undefined> {
    if (this.#isClosed || this.#isPaused) return Promise.resolve(undefined);
    const { promise, resolve } = Promise.withResolvers<string | undefined>();
    this.#workers.push(resolve);
    this.#handOut();
    return promise;
  }

  done(key: string): void {
    const inWork = this.#inWork.get(key);
    if (inWork === undefined) return;
    this.#inWork.delete(key);
    const { waitedMs, sinceMs, addedAtMs } = inWork;
    this.#hooks.onDone?.(key, { waitedMs, workedMs: this.#clock.monotonic() - sinceMs });
    if (addedAtMs === undefined || this.#isClosed) return;
    this.#waiting.set(key, addedAtMs);
    this.#handOut();
  }

  /** Drops all queued keys. Workers may finish the keys that they have. */
  close(): void {
    this.#isClosed = true;
    this.#waiting.clear();
    for (const { cancel } of this.#delayed.values()) cancel();
    this.#delayed.clear();
    this.#failures.clear();
    for (const resolve of this.#workers.splice(0)) resolve(undefined);
  }

  async #workOn(key: string, work: (key: string) => Promise<void>): Promise<void> {
    try {
      await work(key);
    } catch (thrown) {
      // The key must not get lost with the worker.
      this.add(key);
      throw thrown;
    } finally {
      this.done(key);
    }
  }

  #pause(): void {
    this.#isPaused = true;
    const delayed = [...this.#delayed];
    this.#delayed.clear();
    for (const [key, { cancel }] of delayed) {
      cancel();
      this.add(key);
    }
    for (const resolve of this.#workers.splice(0)) resolve(undefined);
  }

  #resume(): void {
    this.#isPaused = false;
    this.#handOut();
  }

  #handOut(): void {
    for (const [key, addedAtMs] of this.#waiting) {
      const worker = this.#workers.shift();
      if (worker === undefined) return;
      const sinceMs = this.#clock.monotonic();
      this.#waiting.delete(key);
      this.#inWork.set(key, { waitedMs: sinceMs - addedAtMs, sinceMs, addedAtMs: undefined });
      worker(key);
    }
  }
}
