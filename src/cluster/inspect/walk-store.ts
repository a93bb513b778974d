/** Reads every key under the storage root, page by page, so that the memory it needs does not grow with the store. */
import { keyAfter, prefixEnd, StorageError, type KeyValue, type Kv, type RangeResult } from "../../storage/kv.ts";

export interface WalkProgress {
  readonly done: number;
  readonly total: number;
}

export interface WalkOptions {
  readonly kv: Pick<Kv, "range">;
  /** Ends with a slash. */
  readonly storageRoot: string;
  readonly signal: AbortSignal;
  /** Called before every page, and at the end. */
  readonly onProgress: (progress: WalkProgress) => void;
}

export interface Walked {
  readonly keys: number;
  /** The revision of the store when the walk began. */
  readonly revision: number;
  /**
   * Whether all keys were read at `revision`. If that revision was compacted during the walk, the remaining keys were
   * read at newer revisions.
   */
  readonly isSnapshot: boolean;
}

const PAGE_KEYS_FIRST = 100;
const PAGE_KEYS_MAX = 500;
/** Approximate size of a page. If values are large, the next pages have fewer keys. */
const PAGE_BYTES = 4 * 1024 * 1024;

/** Rejects with the reason of the signal if the signal aborts, and with a StorageError if the store fails. */
export async function walkStore(options: WalkOptions, visit: (item: KeyValue) => void): Promise<Walked> {
  const { kv, storageRoot, signal, onProgress } = options;
  const end = prefixEnd(storageRoot);
  const { count, revision } = await kv.range({ start: storageRoot, end, countOnly: true });
  const pages = new Pages(kv, { end, revision });
  let start = storageRoot;
  let keys = 0;
  for (let isMore = count > 0; isMore;) {
    signal.throwIfAborted();
    onProgress({ done: keys, total: Math.max(count, keys) });
    const page = await pages.read(start);
    for (const item of page.items) visit(item);
    keys += page.items.length;
    const last = page.items.at(-1);
    isMore = last !== undefined && page.count > page.items.length;
    start = keyAfter(last?.key ?? "");
  }
  onProgress({ done: keys, total: keys });
  return { keys, revision, isSnapshot: pages.isSnapshot };
}

class Pages {
  readonly #kv: Pick<Kv, "range">;
  readonly #end: string;
  #revision: number | undefined;
  #limit = PAGE_KEYS_FIRST;

  constructor(kv: Pick<Kv, "range">, at: { readonly end: string; readonly revision: number }) {
    this.#kv = kv;
    this.#end = at.end;
    this.#revision = at.revision;
  }

  get isSnapshot(): boolean {
    return this.#revision !== undefined;
  }

  async read(start: string): Promise<RangeResult> {
    const page = await this.#range(start);
    const bytes = page.items.reduce((sum, { value }) => sum + value.length, 0);
    const fitting = Math.floor((PAGE_BYTES * page.items.length) / Math.max(bytes, 1));
    this.#limit = Math.min(PAGE_KEYS_MAX, Math.max(fitting, 1));
    return page;
  }

  async #range(start: string): Promise<RangeResult> {
    const request = { start, end: this.#end, limit: this.#limit };
    if (this.#revision === undefined) return this.#kv.range(request);
    try {
      return await this.#kv.range({ ...request, revision: this.#revision });
    } catch (thrown) {
      if (!(thrown instanceof StorageError && thrown.code === "revision-compacted")) throw thrown;
      this.#revision = undefined;
      return this.#kv.range(request);
    }
  }
}
