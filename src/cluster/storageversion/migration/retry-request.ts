/** Retries a request for a limited time while its failure may be temporary. */
import { sleep, type Clock } from "../../../base/clock.ts";
import type { Random } from "../../../base/random.ts";
import { TransportError } from "../../../client/transport.ts";
import { HTTP_CODE, StatusError } from "../../../meta/status-error.ts";
import { PATIENCE_MS, RETRY_MS_MAX, RETRY_MS_MIN } from "./migration-limits.ts";

export type Attempted<T> =
  | { readonly kind: "answered"; readonly value: T }
  /** The failure is permanent: a retry would not help. */
  | { readonly kind: "refused"; readonly error: StatusError }
  /** The failure did not pass in time. */
  | { readonly kind: "exhausted"; readonly error: StatusError | TransportError; readonly retryAfterMs: number }
  /** Stopped by the signal. */
  | { readonly kind: "stopped" };

interface Patience {
  readonly clock: Clock;
  readonly random: Random;
  readonly signal: AbortSignal;
}

const PASSING: ReadonlySet<number> = new Set([
  HTTP_CODE.TooManyRequests,
  HTTP_CODE.InternalError,
  HTTP_CODE.ServiceUnavailable,
  HTTP_CODE.Timeout,
]);

export async function patiently<T>({ clock, random, signal }: Patience, ask: () => Promise<T>): Promise<Attempted<T>> {
  let firstFailureMs: number | undefined;
  for (let backoffMs = RETRY_MS_MIN; ; backoffMs = Math.min(backoffMs * 2, RETRY_MS_MAX)) {
    if (signal.aborted) return { kind: "stopped" };
    let error: StatusError | TransportError;
    try {
      return { kind: "answered", value: await ask() };
    } catch (thrown) {
      if (signal.aborted) return { kind: "stopped" };
      if (!(thrown instanceof StatusError) && !(thrown instanceof TransportError)) throw thrown;
      if (thrown instanceof StatusError && !PASSING.has(thrown.code)) return { kind: "refused", error: thrown };
      error = thrown;
    }
    const nowMs = clock.monotonic();
    firstFailureMs ??= nowMs;
    const retryAfterMs = suggestedMs(error);
    const waitMs = Math.max(retryAfterMs, backoffMs * (0.5 + random.float()));
    if (nowMs + waitMs - firstFailureMs > PATIENCE_MS) return { kind: "exhausted", error, retryAfterMs };
    if (!(await sleep(clock, waitMs, signal))) return { kind: "stopped" };
  }
}

function suggestedMs(error: StatusError | TransportError): number {
  const seconds = error instanceof StatusError ? error.details?.retryAfterSeconds : undefined;
  return seconds !== undefined && seconds > 0 ? seconds * 1000 : 0;
}
