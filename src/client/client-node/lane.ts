/** What all ways out of one config have in common. */
import { Attempts, type AttemptedRequest, type RetryPolicy } from "../attempts.ts";
import type { AnswerHeaders, Readiness } from "../readiness.ts";
import type { FailedAttempt } from "../retry.ts";

export interface Lane extends RetryPolicy {
  readonly readiness: Readiness;
}

/** How things are now is what they are asked for: waiting would make the answer wrong. */
const HEALTH = /^\/(healthz|livez|readyz)(\/|$)/;

/** The attempts at a request by its path and query; undefined when it is not to be asked again. */
export function attemptsAt(target: string, kind: Omit<AttemptedRequest, "isWatch">, lane: Lane): Attempts | undefined {
  if (HEALTH.test(new URL(target, "http://host").pathname)) return undefined;
  // Nobody in client-node opens a watch again whose opening failed, and nothing of it is lost by doing so.
  return new Attempts(lane, { ...kind, isWatch: false });
}

/** What the rules look at, after the answer has been noted. */
export function noted(lane: Lane, status: number, headers: AnswerHeaders): FailedAttempt["outcome"] {
  lane.readiness.note(headers);
  const retryAfter = headers["retry-after"];
  return { status, retryAfter: typeof retryAfter === "string" ? retryAfter : undefined };
}

/** How long to wait before the next attempt; undefined when there is none. */
export function waitAfter(attempts: Attempts | undefined, outcome: FailedAttempt["outcome"]): number | undefined {
  const decision = attempts?.decide(outcome);
  return decision?.retry === true ? decision.waitMs : undefined;
}
