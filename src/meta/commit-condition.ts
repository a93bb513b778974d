/**
 * The condition under which the writes of a request may be committed. Only in-process callers set it: controllers, whose
 * decisions are outdated as soon as another server leads or decides.
 */
import { serviceUnavailable } from "./status-error.ts";

export interface CommitCondition {
  /**
   * Why a write must not be committed now; undefined if it may. Called directly before each write is sent to the store,
   * or the request to a peer.
   */
  readonly rejection?: (() => string | undefined) | undefined;
  /**
   * A key of the store and the revision that it must still have when the store commits a put; otherwise the request gets
   * 409. Deletions, and requests that are sent to a peer, are not guarded.
   */
  readonly guard?: { readonly key: string; readonly revision: number } | undefined;
}

const RETRY_AFTER_SECONDS = 1;

/** Throws a 503 if a write of the request must not be sent now. */
export function rejectUnlessCommittable({ rejection }: CommitCondition): void {
  const why = rejection?.();
  if (why !== undefined) throw serviceUnavailable(`the write is rejected: ${why}`, RETRY_AFTER_SECONDS);
}
