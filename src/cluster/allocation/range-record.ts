/**
 * Allocates and releases numbers in the RangeAllocation of one range, by compare and swap on its key, which all servers
 * share. The operations that arrive during a commit are committed together, because all Services contend for one key.
 */
import { serviceUnavailable, StatusError } from "../../meta/status-error.ts";
import type { Guard } from "../../storage/kv.ts";
import type { ObjectStore, WriteResult } from "../../storage/object-store.ts";
import type { Entry } from "../../storage/watch-cache/entry.ts";
import { Bitmap } from "./bitmap.ts";
import { decodeRangeAllocation, encodeRangeAllocation } from "./range-allocation.ts";

/** Computes the next bitmap, and the result of the operation. May be called again with a newer bitmap. */
type RangeChange<T> = (allocated: Bitmap) => { readonly next: Bitmap; readonly result: T };

export interface RangeRecord {
  /** Throws an error if the record covers another range. */
  change<T>(change: RangeChange<T>): Promise<T>;
  /** Commits a change only if a guard on another key holds; resolves to false if it does not. */
  changeGuarded(change: (allocated: Bitmap) => Bitmap, guard: Guard): Promise<boolean>;
  /** The bitmap in the cache; undefined if there is no record. */
  known(): Bitmap | undefined;
  /** Reads the newest record. */
  read(): Promise<{ readonly entry: Entry | undefined; readonly allocated: Bitmap }>;
  /** Replaces the record that was read; resolves to false if it has changed since. */
  replace(entry: Entry | undefined, allocated: Bitmap): Promise<boolean>;
}

interface RangeRecordOptions {
  readonly store: ObjectStore;
  readonly key: string;
  readonly range: string;
  /** The numbers that stored objects have, from which a missing record is created. */
  readonly inUse: () => Promise<Iterable<number>>;
}

interface Operation {
  readonly change: RangeChange<unknown>;
  readonly resolve: (result: unknown) => void;
  readonly reject: (thrown: unknown) => void;
}

const MISMATCH = "the provided range does not match the current range";

/** Maximum number of lost races of one commit. */
const RACES_MAX = 100;
/** Maximum number of operations in one commit. */
const BATCH_MAX = 256;

export function createRangeRecord(options: RangeRecordOptions): RangeRecord {
  const { store, key, range } = options;
  let queue: Operation[] = [];
  let isCommitting = false;
  const put = (entry: Entry | undefined, allocated: Bitmap, guards?: readonly Guard[]): Promise<WriteResult> => {
    const value = encodeRangeAllocation({ range, allocated });
    return entry === undefined
      ? store.create(key, value, undefined, guards)
      : store.replace(entry, value, undefined, guards);
  };
  const bitmapOf = async (entry: Entry | undefined): Promise<Bitmap> => {
    if (entry === undefined) return Bitmap.of(await options.inUse());
    const decoded = decodeRangeAllocation(entry);
    if (decoded === undefined) throw serviceUnavailable(`the stored object ${key} cannot be decoded`, 1);
    if (decoded.range !== range) throw new StatusError("InternalError", `Internal error occurred: ${MISMATCH}`);
    return decoded.allocated;
  };
  /** Repeats the write until it is committed or `write` has nothing to write. */
  const commit = async <T>(
    write: (before: Bitmap) => { readonly next: Bitmap; readonly result: T },
    guard?: Guard,
  ): Promise<T | undefined> => {
    let entry = await store.get(key, { kind: "any" });
    for (let race = 0; race < RACES_MAX; race++) {
      const before = await bitmapOf(entry);
      const { next, result } = write(before);
      // An unchanged bitmap proves nothing if the cache is behind, so it is compared with the newest record.
      if (entry !== undefined && next.equals(before)) {
        const newest = await store.get(key, { kind: "newest" });
        if (newest?.modRevision === entry.modRevision) return result;
        entry = newest;
        continue;
      }
      const written = await put(entry, next, guard && [guard]);
      if (written.committed) return result;
      if (written.lostGuard !== undefined && written.lostGuard === guard?.key) return undefined;
      entry = written.current;
    }
    throw serviceUnavailable("the allocated numbers change too fast, please try again later", 1);
  };
  const run = async (): Promise<void> => {
    isCommitting = true;
    while (queue.length > 0) {
      const batch = queue.slice(0, BATCH_MAX);
      queue = queue.slice(BATCH_MAX);
      try {
        const results = await commit((before) => applyAll(batch, before));
        batch.forEach(({ resolve }, index) => resolve(results?.[index]));
      } catch (thrown) {
        for (const { reject } of batch) reject(thrown);
      }
    }
    isCommitting = false;
  };
  return {
    change<T>(change: RangeChange<T>): Promise<T> {
      return new Promise<T>((resolve, reject) => {
        queue.push({ change, resolve: (result) => resolve(result as T), reject });
        if (!isCommitting) void run();
      });
    },
    async changeGuarded(change, guard) {
      const write = (before: Bitmap): { next: Bitmap; result: true } => ({ next: change(before), result: true });
      return (await commit(write, guard)) === true;
    },
    known() {
      const entry = store.cache.get(key);
      return entry === undefined ? undefined : decodeRangeAllocation(entry)?.allocated;
    },
    async read() {
      const entry = await store.get(key, { kind: "newest" });
      const decoded = entry === undefined ? undefined : decodeRangeAllocation(entry);
      // A record of another range, or one that cannot be decoded, is replaced, as by kube-apiserver.
      return { entry, allocated: decoded?.range === range ? decoded.allocated : Bitmap.of([]) };
    },
    replace: async (entry, allocated) => (await put(entry, allocated)).committed,
  };
}

function applyAll(
  batch: readonly Operation[],
  before: Bitmap,
): { readonly next: Bitmap; readonly result: readonly unknown[] } {
  let next = before;
  const result = batch.map(({ change }) => {
    const applied = change(next);
    ({ next } = applied);
    return applied.result;
  });
  return { next, result };
}
