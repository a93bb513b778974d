/** The attempts of one request: how many there were, and since when nobody has listened. */
import type { Clock } from "../base/clock.ts";
import { decideRetry, type FailedAttempt, type RetryDecision } from "./retry.ts";

export interface RetryPolicy {
  readonly clock: Clock;
  readonly retriesMax?: number | undefined;
  /** How long a request waits for somebody to listen. Default: not at all. */
  readonly waitForServerMs?: number | undefined;
}

export type AttemptedRequest = Pick<FailedAttempt, "method" | "isWatch" | "isBodyReplayable">;

export class Attempts {
  readonly #policy: RetryPolicy;
  readonly #kind: AttemptedRequest;
  #reached = 0;
  #refusedSince: number | undefined;

  constructor(policy: RetryPolicy, kind: AttemptedRequest) {
    this.#policy = policy;
    this.#kind = kind;
  }

  /** Once for every attempt that was not what the caller wants. */
  decide(outcome: FailedAttempt["outcome"]): RetryDecision {
    const { clock, retriesMax, waitForServerMs = 0 } = this.#policy;
    const isRefused = "failure" in outcome && outcome.failure === "refused";
    if (!isRefused) this.#reached++;
    this.#refusedSince = isRefused ? (this.#refusedSince ?? clock.monotonic()) : undefined;
    const waitedMs = this.#refusedSince === undefined ? 0 : clock.monotonic() - this.#refusedSince;
    return decideRetry({
      ...this.#kind,
      attempt: this.#reached,
      outcome,
      retriesMax,
      waitForServerMs: waitForServerMs - waitedMs,
    });
  }
}
