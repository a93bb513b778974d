/**
 * Keeps a server from writing while its peers may treat it as departed. A server is fenced from its start until its
 * identity lease is written, and again when the last renewal is too old or another process holds the lease. The age is
 * computed at each write, so a process that was paused is fenced as soon as it resumes, before any of its timers has
 * run.
 *
 *    fenced → (renewed) → opening: `beforeUnfence` runs → open → (too long without a renewal, or lease lost) → fenced
 *
 * The age of a renewal counts from when the request was sent, because the time at which it took effect is unknown.
 */
import type { Clock } from "../../base/clock.ts";
import type { Log } from "../../base/log.ts";
import type { PassingFilter } from "../../serving/http/chain.ts";
import type { WithInfo } from "../../serving/http/filters/request-info.ts";
import { serviceUnavailable } from "../../meta/status-error.ts";
import { messageOf, within } from "../../base/within.ts";

interface FenceOptions {
  readonly clock: Clock;
  readonly log: Log;
  readonly fenceAfterMs: number;
  /**
   * Publishes the records that peers need before this server may write again. A failure is retried at the next renewal.
   */
  readonly beforeUnfence?: (signal: AbortSignal) => Promise<void>;
}

const RETRY_AFTER_SECONDS = 1;
const WRITE_VERBS: ReadonlySet<string> = new Set(["create", "update", "patch", "delete", "deletecollection"]);

export class Fence {
  readonly #options: FenceOptions;
  #renewedAtMs = -Infinity;
  /** When the record of this server was last known to be stored; undefined if this server has no record. */
  #recordKeptAtMs: number | undefined;
  /** Why this server lost the lease. */
  #lostBecause: string | undefined;
  /** Whether `beforeUnfence` has not yet succeeded since the last lapse. */
  #isHeld = true;
  /** Number of lapses. Records that were published before the latest lapse do not count. */
  #lapses = 0;
  #isOpening = false;
  #hasBeenRenewed = false;

  constructor(options: FenceOptions) {
    this.#options = options;
  }

  /** Why this server must not write; undefined if it may. */
  get reason(): string | undefined {
    if (this.#lostBecause !== undefined) return this.#lostBecause;
    if (this.#renewedAtMs === -Infinity) return "the identity lease of this server has not been written yet";
    if (this.#isLate(this.#renewedAtMs))
      return `the identity lease of this server has not been renewed for ${this.#secondsSince(this.#renewedAtMs)} s`;
    const keptAtMs = this.#recordKeptAtMs;
    if (keptAtMs !== undefined && this.#isLate(keptAtMs))
      return `the record by which peers find this server has not been renewed for ${this.#secondsSince(keptAtMs)} s`;
    return this.#isHeld
      ? "this server has not yet published the records that its peers need before it writes"
      : undefined;
  }

  /**
   * Whether the lease was held before, and its last renewal is now too old or another process holds it. A write that
   * passed the fence earlier must then not reach the store.
   */
  get hasLapsed(): boolean {
    return this.#hasBeenRenewed && this.#isLapsed();
  }

  get isFenced(): boolean {
    return this.reason !== undefined;
  }

  /** Called when the lease was renewed, with the monotonic time at which the request was sent. */
  renewed(startedAtMs: number): void {
    if (this.#isLapsed()) this.#lapse();
    this.#lostBecause = undefined;
    this.#hasBeenRenewed = true;
    this.#renewedAtMs = Math.max(this.#renewedAtMs, startedAtMs);
    if (this.#isHeld) void this.#open();
  }

  /** Called when the record of this server is stored, with the monotonic time at which its store lease was renewed. */
  recordKept(startedAtMs: number): void {
    // A late lease does not count here: the record is also confirmed while the fence opens.
    if (this.#recordKeptAtMs !== undefined && this.#isLate(this.#recordKeptAtMs)) this.#lapse();
    this.#recordKeptAtMs = Math.max(this.#recordKeptAtMs ?? -Infinity, startedAtMs);
  }

  /** Called when another process owns the lease. */
  lost(because: string): void {
    this.#lapse();
    this.#lostBecause = because;
    this.#renewedAtMs = -Infinity;
  }

  /** Throws a 503 if this server is fenced. */
  check(): void {
    const { reason } = this;
    if (reason !== undefined) throw serviceUnavailable(`this server rejects writes: ${reason}`, RETRY_AFTER_SECONDS);
  }

  #isLapsed(): boolean {
    return (
      this.#isLate(this.#renewedAtMs) || (this.#recordKeptAtMs !== undefined && this.#isLate(this.#recordKeptAtMs))
    );
  }

  #isLate(atMs: number): boolean {
    return this.#options.clock.monotonic() - atMs >= this.#options.fenceAfterMs;
  }

  #secondsSince(atMs: number): number {
    return Math.floor((this.#options.clock.monotonic() - atMs) / 1000);
  }

  #lapse(): void {
    this.#isHeld = true;
    this.#lapses++;
  }

  async #open(): Promise<void> {
    const { clock, log, fenceAfterMs, beforeUnfence } = this.#options;
    if (this.#isOpening) return;
    this.#isOpening = true;
    try {
      while (this.#isHeld) {
        const lapses = this.#lapses;
        if (beforeUnfence !== undefined) await within(clock, fenceAfterMs, beforeUnfence);
        this.#isHeld = lapses !== this.#lapses;
      }
      log.info("accepting writes");
    } catch (thrown) {
      log.warn("still fenced", { error: messageOf(thrown) });
    } finally {
      this.#isOpening = false;
    }
  }
}

/**
 * The filter that rejects writes while the server is fenced. Requests of the server itself pass; otherwise it could not
 * renew its lease.
 */
export function fence(options: {
  readonly fence: Fence;
  readonly isExempt: (request: WithInfo) => boolean;
}): PassingFilter<WithInfo> {
  return (next) => (request) => {
    const { isResourceRequest, verb } = request.info;
    if (isResourceRequest && WRITE_VERBS.has(verb) && !options.isExempt(request)) options.fence.check();
    return next(request);
  };
}

/** The health check for /readyz. */
export function fenceHealthCheck(state: Fence): {
  readonly name: string;
  readonly check: () => string | undefined;
  readonly endpoints: readonly ["readyz"];
} {
  return { name: "identity-lease", check: () => state.reason, endpoints: ["readyz"] };
}
