/**
 * Remembers what the stale-entry collector has observed during its term as leader, with times of its own monotonic
 * clock, to compute how long a state has lasted.
 */
import type { Clock } from "../../base/clock.ts";
import type { AgreementMember } from "./members.ts";
import type { StorageVersionObject } from "./objects.ts";

interface CollectorMemoryOptions {
  readonly clock: Clock;
  readonly emptyGraceMs: number;
  readonly pendingGraceMs: number;
}

interface Remembered {
  readonly uid: string;
  /** The resourceVersion at which the object was first seen without entries, and when. */
  empty: { readonly resourceVersion: string; readonly sinceMs: number } | undefined;
  /** Since when the object has had entries and no common version. */
  disagreesSinceMs: number | undefined;
}

export class CollectorMemory {
  readonly #options: CollectorMemoryOptions;
  /** For each live server that has not published everything: when it was first seen in this state. */
  readonly #unpublishedSinceMs = new Map<string, number>();
  /** The observations of each object. A deleted object is removed when its deletion is seen. */
  readonly #objects = new Map<string, Remembered>();

  constructor(options: CollectorMemoryOptions) {
    this.#options = options;
  }

  forget(name: string): void {
    this.#objects.delete(name);
  }

  /**
   * Live servers that were first seen recently and have not published everything, with the remaining milliseconds until
   * they count as pending.
   */
  youngServers(live: ReadonlyMap<string, AgreementMember>): ReadonlyMap<string, number> {
    const { clock, pendingGraceMs } = this.#options;
    const nowMs = clock.monotonic();
    for (const id of this.#unpublishedSinceMs.keys())
      if (live.get(id)?.isPublished !== false) this.#unpublishedSinceMs.delete(id);
    for (const { id, isPublished } of live.values())
      if (!isPublished && !this.#unpublishedSinceMs.has(id)) this.#unpublishedSinceMs.set(id, nowMs);
    const left = [...this.#unpublishedSinceMs].map(([id, sinceMs]) => [id, sinceMs + pendingGraceMs - nowMs] as const);
    return new Map(left.filter(([, leftMs]) => leftMs > 0));
  }

  /**
   * How much longer an object without entries must be kept; 0 if the grace period is over, or if the object has
   * entries.
   */
  emptyForMs(object: StorageVersionObject): number {
    const { clock, emptyGraceMs } = this.#options;
    const remembered = this.#recall(object);
    if (hasEntries(object)) {
      remembered.empty = undefined;
      return 0;
    }
    const resourceVersion = object.metadata?.resourceVersion ?? "";
    if (remembered.empty?.resourceVersion !== resourceVersion)
      remembered.empty = { resourceVersion, sinceMs: clock.monotonic() };
    const seenMs = clock.monotonic() - remembered.empty.sinceMs;
    const createdAt = Date.parse(object.metadata?.creationTimestamp ?? "");
    const ageMs = Number.isNaN(createdAt) ? Infinity : clock.now() - createdAt;
    // The creation time comes from another clock and may be in the future, so the result is limited to the grace
    // period.
    return Math.min(Math.max(emptyGraceMs - Math.min(seenMs, ageMs), 0), emptyGraceMs);
  }

  /** How long the object had no common version, reported once when it gets one; otherwise undefined. */
  agreementMs(object: StorageVersionObject): number | undefined {
    if (!hasEntries(object)) return undefined;
    const nowMs = this.#options.clock.monotonic();
    const remembered = this.#recall(object);
    const sinceMs = remembered.disagreesSinceMs;
    const isAgreed = object.status?.commonEncodingVersion !== undefined;
    remembered.disagreesSinceMs = isAgreed ? undefined : (sinceMs ?? nowMs);
    return isAgreed && sinceMs !== undefined ? nowMs - sinceMs : undefined;
  }

  #recall({ metadata = {} }: StorageVersionObject): Remembered {
    const { name = "", uid = "" } = metadata;
    const known = this.#objects.get(name);
    if (known !== undefined && known.uid === uid) return known;
    const remembered: Remembered = { uid, empty: undefined, disagreesSinceMs: undefined };
    this.#objects.set(name, remembered);
    return remembered;
  }
}

function hasEntries({ status }: StorageVersionObject): boolean {
  return (status?.storageVersions ?? []).length > 0;
}
