/**
 * Decides after each failed attempt of a request whether to retry it. It counts the attempts that reached a server, and
 * the time during which every connection was refused.
 */
import type { Clock } from "../base/clock.ts";
import { decideRetry, type FailedAttempt, type RetryDecision } from "./retry.ts";

export interface RetryPolicy {
  readonly clock: Clock;
  readonly retriesMax?: number | undefined;
  /** How long a request is retried while connections are refused. Default: not at all. */
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

  /** Callers must call this once for each failed attempt. */
  decide(outcome: FailedAttempt["outcome"]): RetryDecision {
    const { clock, retriesMax, waitForServerMs = 0 } = this.#policy;
    const isRejected = "failure" in outcome && outcome.failure === "refused";
    if (!isRejected) this.#reached++;
    this.#refusedSince = isRejected ? (this.#refusedSince ?? clock.monotonic()) : undefined;
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
