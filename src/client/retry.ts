/** When a request is asked again. As client-go: whoever says Retry-After is asked again, a broken read too, nothing else. */
import { BROKEN_CONNECTION_WAIT_MS, RETRIES_MAX, RETRY_AFTER_SECONDS_MAX } from "./limits.ts";
import type { TransportFailure } from "./transport.ts";

export interface FailedAttempt {
  /** Attempts made so far, this one included. */
  readonly attempt: number;
  readonly method: string;
  /** Whoever watches decides itself from where to go on. */
  readonly isWatch: boolean;
  /** A body that was a stream is gone once it has been sent. */
  readonly isBodyReplayable: boolean;
  readonly outcome: Answered | { readonly failure: TransportFailure };
  /** Default 10. */
  readonly retriesMax?: number;
}

interface Answered {
  readonly status: number;
  /** The Retry-After header as it came. */
  readonly retryAfter: string | undefined;
}

export type RetryDecision = { readonly retry: false } | { readonly retry: true; readonly waitMs: number };

const GIVE_UP: RetryDecision = { retry: false };

export function decideRetry(failed: FailedAttempt): RetryDecision {
  if (!failed.isBodyReplayable || failed.attempt > (failed.retriesMax ?? RETRIES_MAX)) return GIVE_UP;
  const { outcome } = failed;
  if ("failure" in outcome) {
    // A write may have happened; a refused connection stays refused for longer than a caller waits.
    const isRepeatable = failed.method === "GET" && !failed.isWatch && outcome.failure === "reset";
    return isRepeatable ? { retry: true, waitMs: BROKEN_CONNECTION_WAIT_MS } : GIVE_UP;
  }
  const seconds = retryAfterSeconds(outcome.retryAfter);
  const mayAskAgain = outcome.status === 429 || outcome.status >= 500;
  if (!mayAskAgain || seconds === undefined || seconds > RETRY_AFTER_SECONDS_MAX) return GIVE_UP;
  return { retry: true, waitMs: seconds * 1000 };
}

/** Undefined when the header is absent or a date, which client-go does not follow either. */
export function retryAfterSeconds(header: string | undefined): number | undefined {
  return header !== undefined && /^\d{1,9}$/.test(header) ? Number(header) : undefined;
}
