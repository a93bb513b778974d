/**
 * Keeps a server from writing that others may take for dead. A server is fenced from its start until its identity lease
 * is written, and again as soon as the last renewal lies too far back, measured at each write: a process that was
 * stopped for a while is fenced in the moment it goes on, before any timer of it has run.
 *
 *   fenced → (renewed) → opening: `beforeUnfence` runs → open → (too long without a renewal, or lease lost) → fenced
 *
 * Renewals count from when they were sent, since nobody knows when in between they became true.
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
  /** What must be published before this server may write again. A failure is tried again at the next renewal. */
  readonly beforeUnfence?: (signal: AbortSignal) => Promise<void>;
}

const RETRY_AFTER_SECONDS = 1;
const WRITE_VERBS: ReadonlySet<string> = new Set(["create", "update", "patch", "delete", "deletecollection"]);

export class Fence {
  readonly #options: FenceOptions;
  #renewedAtMs = -Infinity;
  /** Why the lease is no longer ours. */
  #lostBecause: string | undefined;
  /** Since the last lapse nothing has been published yet. */
  #isHeld = true;
  /** Lapses so far: what was published before the latest does not count. */
  #lapses = 0;
  #isOpening = false;
  #hasBeenRenewed = false;

  constructor(options: FenceOptions) {
    this.#options = options;
  }

  /** Why this server must not write; undefined when it may. */
  get reason(): string | undefined {
    if (this.#lostBecause !== undefined) return this.#lostBecause;
    if (this.#renewedAtMs === -Infinity) return "the identity lease of this server has not been written yet";
    if (this.#isLapsed()) {
      const seconds = Math.floor((this.#options.clock.monotonic() - this.#renewedAtMs) / 1000);
      return `the identity lease of this server has not been renewed for ${seconds} s`;
    }
    return this.#isHeld ? "what others must know before this server writes has not been published yet" : undefined;
  }

  /** It has been open and must not be any more: what was let in before must not be written now either. */
  get hasLapsed(): boolean {
    return this.#hasBeenRenewed && this.#isLapsed();
  }

  get isFenced(): boolean {
    return this.reason !== undefined;
  }

  /** The lease was renewed by a request that was sent at this time of the monotonic clock. */
  renewed(startedAtMs: number): void {
    if (this.#isLapsed()) this.#lapse();
    this.#lostBecause = undefined;
    this.#hasBeenRenewed = true;
    this.#renewedAtMs = Math.max(this.#renewedAtMs, startedAtMs);
    if (this.#isHeld) void this.#open();
  }

  /** The lease belongs to somebody else. */
  lost(because: string): void {
    this.#lapse();
    this.#lostBecause = because;
    this.#renewedAtMs = -Infinity;
  }

  /** Throws what a write is answered with while this server is fenced. */
  check(): void {
    const { reason } = this;
    if (reason !== undefined) throw serviceUnavailable(`this server takes no writes: ${reason}`, RETRY_AFTER_SECONDS);
  }

  #isLapsed(): boolean {
    return this.#options.clock.monotonic() - this.#renewedAtMs >= this.#options.fenceAfterMs;
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
      log.info("this server takes writes");
    } catch (thrown) {
      log.warn("this server stays fenced", { error: messageOf(thrown) });
    } finally {
      this.#isOpening = false;
    }
  }
}

/** Exempt are the server's own calls, without which it could not renew its lease. */
export function fence(options: {
  readonly fence: Fence;
  readonly isExempt: (request: WithInfo) => boolean;
}): PassingFilter<WithInfo> {
  return (next) => async (request) => {
    const { isResourceRequest, verb } = request.info;
    if (isResourceRequest && WRITE_VERBS.has(verb) && !options.isExempt(request)) options.fence.check();
    return next(request);
  };
}

/** For /readyz. */
export function fenceHealthCheck(state: Fence): {
  readonly name: string;
  readonly check: () => string | undefined;
  readonly endpoints: readonly ["readyz"];
} {
  return { name: "identity-lease", check: () => state.reason, endpoints: ["readyz"] };
}
