/**
 * Remembers what the collector has observed in its term, and when by its own monotonic clock, to compute how long a
 * state has lasted.
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
  /** Since when this version of it is known to have no entries. */
  empty: { readonly resourceVersion: string; readonly sinceMs: number } | undefined;
  /** Since when it has had entries and no common version. */
  disagreesSinceMs: number | undefined;
}

export class CollectorMemory {
  readonly #options: CollectorMemoryOptions;
  /** Bounded by the number of members. */
  readonly #unpublishedSinceMs = new Map<string, number>();
  /** Bounded by the number of objects: a deleted object is removed when the deletion is seen. */
  readonly #objects = new Map<string, Remembered>();

  constructor(options: CollectorMemoryOptions) {
    this.#options = options;
  }

  forget(name: string): void {
    this.#objects.delete(name);
  }

  /** Live servers that have not published everything and were first seen recently, with the milliseconds left. */
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

  /** How long an object without entries must still be kept; 0 if that time is over, or if it has entries. */
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
    // Clocks differ: an object with a future timestamp is examined again after the grace period.
    return Math.min(Math.max(emptyGraceMs - Math.min(seenMs, ageMs), 0), emptyGraceMs);
  }

  /**
   * How long the object had no common version, if this is the first time that it has one again; otherwise undefined.
   */
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
