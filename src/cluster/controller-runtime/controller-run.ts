/** Runs a controller during one term of leadership. */
import { sleep, type Clock } from "../../base/clock.ts";
import { eitherSignal } from "../../base/either-signal.ts";
import type { Log } from "../../base/log.ts";
import type { Random } from "../../base/random.ts";
import { messageOf } from "../../base/within.ts";
import { WorkQueue, type WorkQueueHooks } from "../../base/work-queue.ts";
import { WriteBackOff } from "./contested-writes.ts";
import type { ControllerSpec, KeySource } from "./controller.ts";
import { untilAborted } from "../../base/until-aborted.ts";

export type ReconcileOutcome = "success" | "requeue" | "error";

export interface ControllerRunOptions {
  readonly clock: Clock;
  readonly random: Random;
  readonly log: Log;
  /** Checked before each key, because a process that was paused may have lost leadership before any signal aborts. */
  readonly mayWork: () => boolean;
  readonly queueHooks: WorkQueueHooks;
  readonly onReconciled: (outcome: ReconcileOutcome) => void;
}

/** Interval at which `hasSynced` of the sources is polled, as client-go. */
const SYNC_POLL_MS = 100;

export class ControllerRun {
  readonly #spec: ControllerSpec;
  readonly #options: ControllerRunOptions;
  readonly #queue: WorkQueue;
  #hasSynced = false;
  #failuresInRow = 0;
  #lastError: string | undefined;
  #stoppingSinceMs: number | undefined;

  constructor(spec: ControllerSpec, options: ControllerRunOptions) {
    const { clock, random, queueHooks } = options;
    this.#spec = spec;
    this.#options = options;
    this.#queue = new WorkQueue({ clock, random, hooks: queueHooks });
  }

  get hasSynced(): boolean {
    return this.#hasSynced;
  }

  get queueLength(): number {
    return this.#queue.length;
  }

  /** Number of failed reconciles since the last success. */
  get failuresInRow(): number {
    return this.#failuresInRow;
  }

  get lastError(): string | undefined {
    return this.#lastError;
  }

  /** When the run was stopped; undefined before. Reconciles may still be running. */
  get stoppingSinceMs(): number | undefined {
    return this.#stoppingSinceMs;
  }

  /**
   * Runs until the signal aborts, and resolves when all reconciles have returned, however long they take. Rejects if a
   * source fails or ends by itself, because the keys of that source would be missed.
   */
  async run(signal: AbortSignal): Promise<void> {
    const sources = this.#spec.sources();
    const ended = new AbortController();
    const either = eitherSignal(signal, ended.signal);
    const parts = [...sources.map((source) => this.#follow(source, either)), this.#work(sources, either)];
    try {
      await Promise.race([untilAborted(either), ...parts]);
    } finally {
      this.#stoppingSinceMs = this.#options.clock.monotonic();
      ended.abort();
      this.#queue.close();
      await Promise.allSettled(parts);
    }
  }

  async #follow(source: KeySource, signal: AbortSignal): Promise<void> {
    await source.run((key) => this.#queue.add(key), signal);
    if (!signal.aborted) throw new Error("a key source has ended");
  }

  async #work(sources: readonly KeySource[], signal: AbortSignal): Promise<void> {
    while (!sources.every((source) => source.hasSynced))
      if (!(await sleep(this.#options.clock, SYNC_POLL_MS, signal))) return;
    this.#hasSynced = true;
    await Promise.all(Array.from({ length: this.#spec.workers ?? 1 }, () => this.#worker(signal)));
  }

  async #worker(signal: AbortSignal): Promise<void> {
    for (let key = await this.#queue.next(); key !== undefined; key = await this.#queue.next()) {
      // The term is over. The signal has not aborted yet, but will as soon as timers run.
      if (!this.#options.mayWork()) return untilAborted(signal);
      await this.#reconcile(key, signal);
      this.#queue.done(key);
    }
  }

  async #reconcile(key: string, signal: AbortSignal): Promise<void> {
    try {
      const result = await this.#spec.reconcile(key, signal);
      this.#queue.forget(key);
      this.#failuresInRow = 0;
      const requeueAfterMs = result?.requeueAfterMs;
      if (requeueAfterMs !== undefined) this.#queue.addAfter(key, requeueAfterMs);
      this.#options.onReconciled(requeueAfterMs === undefined ? "success" : "requeue");
    } catch (thrown) {
      if (signal.aborted) return;
      if (thrown instanceof WriteBackOff) this.#mustWait(key, thrown);
      else this.#hasFailed(key, messageOf(thrown));
    }
  }

  /** The controller did its work, but must not write yet. This is no failure, and was logged once. */
  #mustWait(key: string, { afterMs }: WriteBackOff): void {
    this.#queue.forget(key);
    this.#queue.addAfter(key, afterMs);
    this.#options.onReconciled("requeue");
  }

  #hasFailed(key: string, error: string): void {
    const { log, onReconciled } = this.#options;
    this.#failuresInRow++;
    this.#lastError = error;
    log.warn("reconcile failed", { controller: this.#spec.name, key, error, failures: this.#queue.retries(key) + 1 });
    this.#queue.addRateLimited(key);
    onReconciled("error");
  }
}
