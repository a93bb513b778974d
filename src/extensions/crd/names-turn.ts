/**
 * The turn to accept the names of CRDs. Every server decides which names are free from its own view of the CRDs, so two
 * servers could accept one name for two CRDs at the same moment. A record in the store prevents this:
 *
 *   1. a server takes the turn: it replaces the record, which then has revision R;
 *   2. it reads the newest CRDs, and accepts names that no CRD has;
 *   3. the store commits the accepted names only if the record still has revision R.
 *
 * A server that takes the turn changes the revision, so no other server can accept names that it decided on before. A
 * server that has accepted names before the turn was taken is read in step 2. Any server may take the turn at any time,
 * so the turn of a crashed or paused server needs no timeout. The record matters only by its revision.
 */
import { isJsonObject } from "../../meta/json.ts";
import type { Guard, Kv } from "../../storage/kv.ts";
import type { WatchCache } from "../../storage/watch-cache/cache.ts";
import { parseEntry } from "../../storage/watch-cache/entry.ts";

interface NamesTurnOptions {
  readonly kv: Kv;
  readonly cache: WatchCache;
  readonly storageRoot: string;
  readonly serverId: string;
}

const HEAD = { kind: "NamesTurn", apiVersion: "evenkeel.io/v1", metadata: {} } as const;

export class NamesTurn {
  readonly #options: NamesTurnOptions;
  readonly #key: string;
  #revision: number | undefined;

  constructor(options: NamesTurnOptions) {
    this.#options = options;
    this.#key = `${options.storageRoot}evenkeel/crd-names`;
  }

  /** The guard of a write that accepts names; undefined if this server has to take the turn first. */
  get guard(): Guard | undefined {
    const seen = this.#options.cache.get(this.#key)?.modRevision ?? 0;
    if (this.#revision !== undefined && seen > this.#revision) this.#revision = undefined;
    return this.#revision === undefined ? undefined : { key: this.#key, revision: this.#revision };
  }

  /**
   * Whether another server took the turn last. It normally accepts the names within milliseconds, so that this server
   * should wait a short time before it takes the turn.
   */
  get isAnothers(): boolean {
    const entry = this.#options.cache.get(this.#key);
    if (entry === undefined || entry.corrupt !== undefined) return false;
    const record = parseEntry(entry);
    return isJsonObject(record) && record["server"] !== this.#options.serverId;
  }

  /** Takes the turn from any server. Resolves to false if another server took it at the same moment. */
  async take(): Promise<boolean> {
    const { kv, cache, serverId } = this.#options;
    this.#revision = undefined;
    const value = Buffer.from(JSON.stringify({ ...HEAD, server: serverId }));
    const expectedRevision = cache.get(this.#key)?.modRevision ?? 0;
    const result = await kv.commit({ kind: "put", key: this.#key, value, expectedRevision });
    if (result.committed) this.#revision = result.revision;
    return result.committed;
  }

  /** Gives up the turn after a write whose outcome is not known: the next decision must read the newest CRDs. */
  drop(): void {
    this.#revision = undefined;
  }
}
