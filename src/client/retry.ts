/**
 * Decides whether and when a request is retried. As in client-go, a request is retried after a 429 or 5xx response with
 * Retry-After, and a read also after a broken connection. Unlike in client-go, a request is also retried after a
 * refused connection if `waitForServerMs` is set.
 */
import {
  BROKEN_CONNECTION_WAIT_MS,
  REFUSED_CONNECTION_WAIT_MS,
  RETRIES_MAX,
  RETRY_AFTER_SECONDS_MAX,
} from "./client-limits.ts";
import type { TransportFailure } from "./transport.ts";

export interface FailedAttempt {
  /** Number of attempts so far whose connection was not refused, including this one. */
  readonly attempt: number;
  readonly method: string;
  /**
   * A watch is not retried after a broken connection, because its caller chooses the resourceVersion to resume from.
   */
  readonly isWatch: boolean;
  /** False for a stream, which is consumed once it has been sent. */
  readonly isBodyReplayable: boolean;
  readonly outcome: ReceivedResponse | { readonly failure: TransportFailure };
  /** Default 10. */
  readonly retriesMax?: number | undefined;
  /** How much longer to retry while connections are refused. Default: not at all. */
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
    // A write is not retried, because it may have been executed.
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

/** Returns undefined if the header is absent or a date, which client-go does not support either. */
export function retryAfterSeconds(header: string | undefined): number | undefined {
  return header !== undefined && /^\d{1,9}$/.test(header) ? Number(header) : undefined;
}
