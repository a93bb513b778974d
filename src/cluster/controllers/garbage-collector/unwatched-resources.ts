/**
 * The resources of which the graph may lack objects, and the log lines about them. A resource is logged only after some
 * time, because a restart of a server or the deletion of a CRD interrupts watches for a moment. It is logged again with
 * growing intervals, however often the watch fails or flaps.
 */
import type { Log } from "../../../base/log.ts";
import { messageOf } from "../../../base/within.ts";
import { formatGroupResource, type GroupResource } from "../../../meta/group-version.ts";
import { StatusError } from "../../../meta/status-error.ts";
import { describeFailure } from "../namespace/failures.ts";
import { RELOG_MS_MAX, RELOG_MS_MIN, UNWATCHED_LOG_MS } from "./collector-limits.ts";

export interface UnwatchedResource {
  readonly group: string;
  readonly resource: string;
  /** When this server first found that it is not watched, by the monotonic clock and by the wall clock. */
  readonly since: Moment;
  /** Such as "HTTP 406: …", or "apiserver-2 departed at …". */
  readonly because: string;
  /** Whether no server serves the resource at present; its CRD may have been deleted. */
  readonly isVanished: boolean;
}

export interface Moment {
  readonly monotonicMs: number;
  readonly wallMs: number;
}

/** Why a list or watch failed, with the HTTP status code and, if the proxy names it, the server. */
export function watchFailure(thrown: unknown): string {
  return thrown instanceof StatusError ? `HTTP ${thrown.code}: ${describeFailure(thrown)}` : messageOf(thrown);
}

interface Logged {
  readonly group: string;
  readonly resource: string;
  /** Whether the resource was logged since it was last watched. */
  isReported: boolean;
  dueMs: number;
  intervalMs: number;
}

export class UnwatchedLog {
  readonly #log: Log;
  readonly #logged = new Map<string, Logged>();

  constructor(log: Log) {
    this.#log = log;
  }

  /** Called periodically with all resources that are not watched. `isKnown`: the resource is to be watched. */
  examine(unwatched: readonly UnwatchedResource[], isKnown: (key: string) => boolean, nowMs: number): void {
    const now = new Map(unwatched.map((resource) => [formatGroupResource(resource), resource]));
    for (const [key, resource] of now)
      if (nowMs - resource.since.monotonicMs >= UNWATCHED_LOG_MS) this.#unwatched(key, resource, nowMs);
    for (const [key, logged] of this.#logged) {
      if (now.has(key)) continue;
      if (logged.isReported && isKnown(key))
        this.#log.info("garbage collector watches a resource again", { ...subjectOf(logged) });
      logged.isReported = false;
      // A resource that fails again soon is logged at the time at which it would have been logged anyway.
      if (nowMs >= logged.dueMs) this.#logged.delete(key);
    }
  }

  #unwatched(key: string, resource: UnwatchedResource, nowMs: number): void {
    const before = this.#logged.get(key);
    if (before !== undefined && nowMs < before.dueMs) return;
    const intervalMs = before === undefined ? RELOG_MS_MIN : Math.min(before.intervalMs * 2, RELOG_MS_MAX);
    const { group, resource: name, because, since, isVanished } = resource;
    this.#logged.set(key, { group, resource: name, isReported: true, dueMs: nowMs + intervalMs, intervalMs });
    const forSeconds = Math.round((nowMs - since.monotonicMs) / 1000);
    const details = { ...subjectOf(resource), because, forSeconds };
    if (isVanished) this.#log.info("garbage collector cannot watch a resource that no server serves", details);
    else this.#log.warn("garbage collector cannot watch a resource", details);
  }
}

function subjectOf({ group, resource }: GroupResource): GroupResource {
  return { group, resource };
}
