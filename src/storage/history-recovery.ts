/**
 * Follows the recovery of a server after the history of its store has changed: from the detection until the server has
 * reloaded everything and may write again. It reports the recovery in the log, in /readyz, in the status and in
 * metrics, because an operator who restores a store must see when the servers have followed.
 */
import { waitUntil, type BackgroundTask } from "../base/background.ts";
import type { Clock } from "../base/clock.ts";
import type { Log } from "../base/log.ts";
import type { MetricsRegistry } from "../base/metrics.ts";
import type { StoreEpochs } from "../base/store-epoch.ts";

interface HistoryRecoveryOptions {
  readonly clock: Clock;
  readonly log: Log;
  readonly metrics: MetricsRegistry;
  readonly epochs: StoreEpochs;
}

/** The latest change of the history. */
export interface HistoryStatus {
  readonly changes: number;
  readonly evidence: string;
  readonly detectedAt: string;
  /** Absent until the recovery is complete. */
  readonly recoveredAfterSeconds?: number;
  /** The reason why the recovery is not complete; absent if it is. */
  readonly waitsFor?: string;
}

/** Returns undefined if the step is complete, otherwise what is missing. */
type RecoveryStep = () => string | undefined;

/**
 * How long the recovery waits for copies of stored objects, such as informers. A copy of a resource that no reachable
 * server serves may be outdated for longer; it is reloaded before it is used.
 */
const COPIES_MS_MAX = 30_000;

interface Change {
  readonly evidence: string;
  readonly atMs: number;
  readonly detectedAt: string;
  recoveredAfterMs: number | undefined;
}

export class HistoryRecovery {
  readonly #options: HistoryRecoveryOptions;
  readonly #steps: RecoveryStep[] = [];
  #latest: Change | undefined;

  constructor(options: HistoryRecoveryOptions) {
    const { epochs, metrics } = options;
    this.#options = options;
    epochs.onChange((evidence) => this.#detected(evidence));
    metrics.gaugeOf(
      {
        name: "evenkeel_store_history_changes",
        help: "Changes of the store's history, such as restores from a backup, that this server has detected.",
      },
      () => epochs.current,
    );
    metrics.gaugeOf(
      {
        name: "evenkeel_store_history_recovering",
        help: "1 while the server recovers from a change of the store's history, otherwise 0.",
      },
      () => (this.waitsFor === undefined ? 0 : 1),
    );
  }

  /** Adds a step that must be complete before the server has recovered. */
  addStep(step: RecoveryStep): void {
    this.#steps.push(step);
  }

  /** The reason why the recovery is not complete; undefined if the server is not recovering. */
  get waitsFor(): string | undefined {
    const latest = this.#latest;
    if (latest === undefined || latest.recoveredAfterMs !== undefined) return undefined;
    for (const step of this.#steps) {
      const missing = step();
      if (missing !== undefined) return missing;
    }
    const { clock, epochs } = this.#options;
    const { outdatedCopies } = epochs;
    const isLate = clock.monotonic() - latest.atMs >= COPIES_MS_MAX;
    return outdatedCopies === 0 || isLate
      ? undefined
      : `${outdatedCopies} informers have not listed their objects again`;
  }

  /** Undefined if the history has never changed. */
  status(): HistoryStatus | undefined {
    if (this.#latest === undefined) return undefined;
    const { evidence, detectedAt, recoveredAfterMs } = this.#latest;
    const { waitsFor } = this;
    return {
      changes: this.#options.epochs.current,
      evidence,
      detectedAt,
      ...(recoveredAfterMs === undefined ? {} : { recoveredAfterSeconds: recoveredAfterMs / 1000 }),
      ...(waitsFor === undefined ? {} : { waitsFor }),
    };
  }

  /** The health check for /readyz. */
  readonly check = (): string | undefined => {
    const { waitsFor } = this;
    return waitsFor === undefined
      ? undefined
      : `the store was restored or replaced: ${this.#latest?.evidence}; this server is recovering: ${waitsFor}`;
  };

  readonly task: BackgroundTask = {
    name: "history-recovery",
    run: async (signal) => {
      const { clock } = this.#options;
      while (!signal.aborted) {
        await this.#nextChange(signal);
        await waitUntil(clock, () => this.waitsFor === undefined, signal);
        if (!signal.aborted) this.#recovered();
      }
    },
  };

  #wake: (() => void) | undefined;

  #nextChange(signal: AbortSignal): Promise<void> {
    if (signal.aborted || (this.#latest !== undefined && this.#latest.recoveredAfterMs === undefined))
      return Promise.resolve();
    return new Promise((resolve) => {
      const done = (): void => {
        signal.removeEventListener("abort", done);
        this.#wake = undefined;
        resolve();
      };
      this.#wake = done;
      signal.addEventListener("abort", done, { once: true });
    });
  }

  #detected(evidence: string): void {
    const { clock, log } = this.#options;
    const atMs = clock.monotonic();
    this.#latest = { evidence, atMs, detectedAt: new Date(clock.now()).toISOString(), recoveredAfterMs: undefined };
    log.error("the history of the store has changed, reloading everything", { evidence });
    this.#wake?.();
  }

  #recovered(): void {
    const { clock, log, epochs } = this.#options;
    if (this.#latest === undefined) return;
    this.#latest.recoveredAfterMs = clock.monotonic() - this.#latest.atMs;
    const { evidence, recoveredAfterMs } = this.#latest;
    log.warn("recovered from a change of the store's history", {
      evidence,
      seconds: recoveredAfterMs / 1000,
      outdatedCopies: epochs.outdatedCopies,
    });
  }
}
