/**
 * Keys that wait to be worked on. A key is in the hands of one worker at most: one that is added meanwhile is handed
 * out again when that worker is done. It says that something is to be looked at, never what happened, so however often
 * it is added it waits once, and the queue never holds more than there are keys.
 */
import type { Cancel, Clock } from "./clock.ts";
import type { Random } from "./random.ts";

export interface WorkQueueHooks {
  /** A key that did not wait yet does now. */
  onAdd?(key: string): void;
  /** A key comes again after a wait that grows with its failures. */
  onRetry?(key: string): void;
  onDone?(key: string, took: { readonly waitedMs: number; readonly workedMs: number }): void;
}

export interface WorkQueueOptions {
  readonly clock: Clock;
  readonly random: Random;
  /** The longest wait of a key that fails again and again. Default 60 s. */
  readonly retryMsMax?: number;
  readonly hooks?: WorkQueueHooks;
}

/** As client-go: the first wait after a failure, doubled by each further one. */
const RETRY_MS_MIN = 5;
const RETRY_MS_MAX = 60_000;
/** Nobody means a longer delay than a timer can measure; coming too early does no harm. */
const DELAY_MS_MAX = 24 * 3_600_000;

interface InWork {
  readonly waitedMs: number;
  readonly sinceMs: number;
  /** Added again meanwhile. */
  addedAtMs: number | undefined;
}

export class WorkQueue {
  readonly #clock: Clock;
  readonly #random: Random;
  readonly #retryMsMax: number;
  readonly #hooks: WorkQueueHooks;
  /** In the order in which they are handed out, each with the time it was added. */
  readonly #waiting = new Map<string, number>();
  readonly #inWork = new Map<string, InWork>();
  readonly #delayed = new Map<string, { readonly dueAtMs: number; readonly cancel: Cancel }>();
  readonly #failures = new Map<string, number>();
  readonly #workers: ((key: string | undefined) => void)[] = [];
  #isClosed = false;

  constructor(options: WorkQueueOptions) {
    this.#clock = options.clock;
    this.#random = options.random;
    this.#retryMsMax = options.retryMsMax ?? RETRY_MS_MAX;
    this.#hooks = options.hooks ?? {};
  }

  /** Keys that could be handed out now; without those being worked on and those that are to come later. */
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

  /** Of several delays of one key the earliest end counts. */
  addAfter(key: string, delayMs: number): void {
    if (this.#isClosed) return;
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

  /** After a failure: the wait doubles with each, until `forget`. */
  addRateLimited(key: string): void {
    if (this.#isClosed) return;
    const failures = this.retries(key);
    this.#failures.set(key, failures + 1);
    const waitMs = Math.min(RETRY_MS_MIN * 2 ** failures, this.#retryMsMax);
    this.#hooks.onRetry?.(key);
    this.addAfter(key, waitMs * (0.5 + this.#random.float() / 2));
  }

  /** The next failure of the key counts as its first. */
  forget(key: string): void {
    this.#failures.delete(key);
  }

  /** How often the key was added by `addRateLimited` since it was forgotten. */
  retries(key: string): number {
    return this.#failures.get(key) ?? 0;
  }

  /** Resolves when there is a key to work on, which the caller then gives back by `done`; to undefined once closed. */
  next(): Promise<string | undefined> {
    if (this.#isClosed) return Promise.resolve(undefined);
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

  /** Whatever waits is dropped. Workers may finish what they have. */
  close(): void {
    this.#isClosed = true;
    this.#waiting.clear();
    for (const { cancel } of this.#delayed.values()) cancel();
    this.#delayed.clear();
    this.#failures.clear();
    for (const resolve of this.#workers.splice(0)) resolve(undefined);
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
