/**
 * Decides when a request is retried. As client-go: after a response with Retry-After, and after a broken connection of
 * a read. Unlike client-go: also after refused connections, if the caller waits for a server.
 */
import {
  BROKEN_CONNECTION_WAIT_MS,
  REFUSED_CONNECTION_WAIT_MS,
  RETRIES_MAX,
  RETRY_AFTER_SECONDS_MAX,
} from "./client-limits.ts";
import type { TransportFailure } from "./transport.ts";

export interface FailedAttempt {
  /** Number of attempts that were sent so far, including this one. */
  readonly attempt: number;
  readonly method: string;
  /** The caller of a watch chooses the version to resume from. */
  readonly isWatch: boolean;
  /** False for a stream, which is consumed once it has been sent. */
  readonly isBodyReplayable: boolean;
  readonly outcome: ReceivedResponse | { readonly failure: TransportFailure };
  /** Default 10. */
  readonly retriesMax?: number | undefined;
  /** How much longer to retry refused connections. Default: not at all. */
  readonly waitForServerMs?: number | undefined;
}

interface ReceivedResponse {
  readonly status: number;
  /** The Retry-After header as received. */
  readonly retryAfter: string | undefined;
}

export type RetryDecision = { readonly retry: false } | { readonly retry: true; readonly waitMs: number };

const GIVE_UP: RetryDecision = { retry: false };

export function decideRetry(failed: FailedAttempt): RetryDecision {
  if (!failed.isBodyReplayable) return GIVE_UP;
  const { outcome } = failed;
  if ("failure" in outcome && outcome.failure === "refused") return decideWaitForServer(failed.waitForServerMs ?? 0);
  if (failed.attempt > (failed.retriesMax ?? RETRIES_MAX)) return GIVE_UP;
  if ("failure" in outcome) {
    // A write may have been executed.
    const isRepeatable = failed.method === "GET" && !failed.isWatch && outcome.failure === "reset";
    return isRepeatable ? { retry: true, waitMs: BROKEN_CONNECTION_WAIT_MS } : GIVE_UP;
  }
  const seconds = retryAfterSeconds(outcome.retryAfter);
  const isRetryableStatus = outcome.status === 429 || outcome.status >= 500;
  if (!isRetryableStatus || seconds === undefined || seconds > RETRY_AFTER_SECONDS_MAX) return GIVE_UP;
  return { retry: true, waitMs: seconds * 1000 };
}

/** Nothing was sent, so every verb may be retried. */
function decideWaitForServer(leftMs: number): RetryDecision {
  return leftMs > 0 ? { retry: true, waitMs: Math.min(REFUSED_CONNECTION_WAIT_MS, leftMs) } : GIVE_UP;
}

/** Undefined if the header is absent or a date, which client-go does not support either. */
export function retryAfterSeconds(header: string | undefined): number | undefined {
  return header !== undefined && /^\d{1,9}$/.test(header) ? Number(header) : undefined;
}
