/**
 * The retry policy and readiness that all transports of one KubeConfig share, and the functions by which they decide
 * about retries.
 */
import { Attempts, type AttemptedRequest, type RetryPolicy } from "../attempts.ts";
import type { AnswerHeaders, Readiness } from "../readiness.ts";
import type { FailedAttempt } from "../retry.ts";

export interface Lane extends RetryPolicy {
  readonly readiness: Readiness;
}

/** Requests to health checks are not retried: their caller wants the current state. */
const HEALTH = /^\/(healthz|livez|readyz)(\/|$)/;

/** The attempts of a request to this path and query; undefined if it must not be retried. */
export function attemptsAt(target: string, kind: Omit<AttemptedRequest, "isWatch">, lane: Lane): Attempts | undefined {
  if (HEALTH.test(new URL(target, "http://host").pathname)) return undefined;
  // Treat a watch as a normal read: client-node never reopens a watch whose opening failed, and a retry of the opening
  // loses no event.
  return new Attempts(lane, { ...kind, isWatch: false });
}

/** Records the readiness in the response headers, and returns the outcome on which the retry rules decide. */
export function outcomeOf(lane: Lane, status: number, headers: AnswerHeaders): FailedAttempt["outcome"] {
  lane.readiness.note(headers);
  const retryAfter = headers["retry-after"];
  return { status, retryAfter: typeof retryAfter === "string" ? retryAfter : undefined };
}

/** How long to wait before the next attempt; undefined if the request is not retried. */
export function waitAfter(attempts: Attempts | undefined, outcome: FailedAttempt["outcome"]): number | undefined {
  const decision = attempts?.decide(outcome);
  return decision?.retry === true ? decision.waitMs : undefined;
}
