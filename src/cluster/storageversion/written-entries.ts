/**
 * Remembers the entries that this server wrote last to each StorageVersion object, and delays a write that only repeats
 * them because another server has changed them. Servers can disagree for a minute about whether a server is live: a
 * restarted server does not know which records have just disappeared. Without the delay, one server would add the
 * implied entries of the disputed server and another one remove them, hundreds of times per second.
 */
import type { Clock } from "../../base/clock.ts";
import { jsonEquals } from "../../meta/json.ts";
import { backOffMs } from "../controller-runtime/contested-writes.ts";
import type { ServerStorageVersion } from "./objects.ts";

type Entries = readonly ServerStorageVersion[];

interface Written {
  readonly revision: number;
  readonly entries: Entries;
  readonly atMs: number;
  /** How often these entries were written again because of other servers. */
  readonly repeats: number;
  /** When this server noticed that another server had changed the entries. */
  overwrittenAtMs: number | undefined;
}

/** Entries that stayed as written for this long are no longer disputed. */
const STAYED_MS = 60_000;

export class WrittenEntries {
  readonly #clock: Clock;
  readonly #last = new Map<string, Written>();

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** Forgets all writes, because the store has another history. */
  clear(): void {
    this.#last.clear();
  }

  /** The revision of the last write of the object; undefined if this server has not written it. */
  revision(name: string): number | undefined {
    return this.#last.get(name)?.revision;
  }

  put(name: string, revision: number, entries: Entries): void {
    const before = this.#last.get(name);
    const isRepeat = before?.overwrittenAtMs !== undefined && !hasStayed(before) && jsonEquals(before.entries, entries);
    const repeats = isRepeat ? before.repeats + 1 : 0;
    this.#last.set(name, { revision, entries, atMs: this.#clock.monotonic(), repeats, overwrittenAtMs: undefined });
  }

  /**
   * Called when the object does not have these entries. Returns how long their next write must wait: 0 if this server
   * wrote other entries last, and for the first repetition. The wait then grows from 1 s to 5 min.
   */
  waitMs(name: string, entries: Entries): number {
    const last = this.#last.get(name);
    if (last === undefined || !jsonEquals(last.entries, entries)) return 0;
    const nowMs = this.#clock.monotonic();
    last.overwrittenAtMs ??= nowMs;
    return hasStayed(last) ? 0 : Math.max(0, last.atMs + backOffMs(last.repeats) - nowMs);
  }
}

function hasStayed({ atMs, overwrittenAtMs }: Written): boolean {
  return overwrittenAtMs !== undefined && overwrittenAtMs - atMs >= STAYED_MS;
}
