/**
 * Limits how long identity leases without any record of their server count as servers. Any client with rights to
 * leases can create such leases, and while they count, no server can conclude that a resource does not exist. All of
 * them together count for 30 s in 10 minutes, in the whole cluster.
 *
 * The 10 minutes are those of a key in the store that expires by itself, so that all servers see the same beginning,
 * including servers that restart.
 */
import type { BackgroundTask } from "../../base/background.ts";
import type { Clock } from "../../base/clock.ts";
import type { Log } from "../../base/log.ts";
import { messageOf } from "../../base/within.ts";
import { isJsonObject, stringAt } from "../../meta/json.ts";
import type { Kv } from "../../storage/kv.ts";
import type { WatchCache } from "../../storage/watch-cache/cache.ts";
import { RecordTable, type RecordKind } from "./record-table.ts";

export const DOUBT_MS = 30_000;
export const DOUBT_WINDOW_MS = 10 * 60_000;

const ID = "window";

interface DoubtWindow {
  /** When the window was opened, by the wall clock of the server that opened it. */
  readonly openedAt: number;
}

interface DoubtBudgetOptions {
  readonly storageRoot: string;
  readonly store: { readonly kv: Kv; readonly cache: WatchCache };
  readonly clock: Clock;
  readonly log: Log;
}

export class DoubtBudget {
  readonly #options: DoubtBudgetOptions;
  readonly #table: RecordTable<DoubtWindow>;
  readonly #key: string;
  /** When the current window was opened, by the monotonic clock of this server. */
  #openedAtMs: number | undefined;
  #isStored = false;

  constructor(options: DoubtBudgetOptions) {
    const kind = windowKind(options.storageRoot);
    this.#options = options;
    this.#key = kind.prefix + ID;
    this.#table = new RecordTable(kind, options.log);
    this.#table.onChange(() => this.#observe());
  }

  /** Whether it is known if a window is open. */
  get isLoaded(): boolean {
    return this.#table.isLoaded;
  }

  get task(): BackgroundTask {
    const { store, clock } = this.#options;
    return this.#table.follow(store.cache, clock);
  }

  /** Adds a listener that is called when a window was opened or closed. The returned function removes it. */
  onChange(listener: () => void): () => void {
    return this.#table.onChange(listener);
  }

  /**
   * Whether leases without a record count as servers now. Called only if there are any; opens a window if none is open.
   */
  mayDoubt(): boolean {
    const now = this.#options.clock.monotonic();
    const isOver = !this.#isStored && this.#openedAtMs !== undefined && now - this.#openedAtMs >= DOUBT_WINDOW_MS;
    if (this.#openedAtMs === undefined || isOver) this.#open(now);
    return now - (this.#openedAtMs ?? now) < DOUBT_MS;
  }

  #open(nowMs: number): void {
    this.#openedAtMs = nowMs;
    // If the write fails, the window counts on this server alone.
    void this.#write().catch((thrown: unknown) => {
      this.#options.log.warn("writing the doubt window failed", { error: messageOf(thrown) });
    });
  }

  async #write(): Promise<void> {
    const { store, clock } = this.#options;
    const lease = await store.kv.leaseGrant(DOUBT_WINDOW_MS / 1000);
    const openedAt = new Date(clock.now()).toISOString();
    const record = { kind: "DoubtWindow", apiVersion: "evenkeel.io/v1", metadata: { name: ID }, openedAt };
    const value = Buffer.from(JSON.stringify(record));
    // If another server has opened the window meanwhile, its key is kept.
    await store.kv.commit({ kind: "put", key: this.#key, value, expectedRevision: 0, lease });
  }

  /** A window that was opened before this server started has the age that its wall clock shows. */
  #observe(): void {
    const stored = this.#table.get(ID);
    if (stored === undefined) {
      if (this.#isStored) this.#openedAtMs = undefined;
      this.#isStored = false;
      return;
    }
    this.#isStored = true;
    const { clock } = this.#options;
    const ageMs = Math.min(Math.max(clock.now() - stored.openedAt, 0), DOUBT_WINDOW_MS);
    this.#openedAtMs ??= clock.monotonic() - ageMs;
  }
}

function windowKind(storageRoot: string): RecordKind<DoubtWindow> {
  const prefix = `${storageRoot}evenkeel/doubt/`;
  return {
    name: "doubt window",
    prefix,
    recordsMax: 1,
    idOf: (key) => (key === prefix + ID ? ID : undefined),
    decode(_id, stored) {
      const openedAt = isJsonObject(stored) ? Date.parse(stringAt(stored, "openedAt")) : NaN;
      return Number.isNaN(openedAt) ? undefined : { openedAt };
    },
    isSame: (left, right) => left.openedAt === right.openedAt,
  };
}
