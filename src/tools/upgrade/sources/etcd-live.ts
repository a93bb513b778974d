/**
 * Reads the stored data of a cluster from a live etcd, so that `inspect` needs no snapshot. It only sends range requests
 * and never writes. All pages are read at one revision, because pages of different revisions could show an object twice
 * or not at all.
 */
import type { Clock } from "../../../base/clock.ts";
import type { EtcdTls } from "../../../storage/kv-etcd/endpoints.ts";
import { openEtcdKv } from "../../../storage/kv-etcd/kv.ts";
import { keyAfter, prefixEnd, StorageError, type Kv, type KeyValue, type RangeResult } from "../../../storage/kv.ts";
import { StoredDataError, type StoredData, type WalkedData, type WalkRequest } from "../stored-data.ts";

interface LiveEtcdOptions {
  readonly endpoints: readonly string[];
  readonly tls?: EtcdTls;
  readonly clock: Clock;
}

/** The number of keys of the first page; the following pages have about PAGE_BYTES. */
const FIRST_PAGE_KEYS = 100;
const PAGE_KEYS_MAX = 2_000;
/** Small enough that a page arrives within the time limit of a request over a slow connection, such as a tunnel. */
const PAGE_BYTES = 1024 * 1024;
/** Follows every key that is valid UTF-8. */
const END_OF_KEYS = "\u{10ffff}";

/** Rejects with a `StoredDataError` if no endpoint responds. */
export async function openLiveEtcd(options: LiveEtcdOptions): Promise<StoredData> {
  const shown = options.endpoints.join(", ");
  const kv = await open(options);
  try {
    return storedData(kv, `etcd ${shown}`, await kv.currentRevision());
  } catch (thrown) {
    await kv.close();
    throw explain(thrown, shown);
  }
}

async function open({ endpoints, tls, clock }: LiveEtcdOptions): Promise<Kv> {
  try {
    return await openEtcdKv({ endpoints, clock, ...(tls && { tls }) });
  } catch (thrown) {
    throw new StoredDataError(thrown instanceof Error ? thrown.message : String(thrown), { cause: thrown });
  }
}

function storedData(kv: Kv, source: string, revision: number): StoredData {
  return {
    source,
    revision,
    warnings: [],
    walk: async (request, visit) => {
      try {
        return await walk({ kv, revision, request }, visit);
      } catch (thrown) {
        throw explain(thrown, source);
      }
    },
    close: () => kv.close(),
  };
}

interface Walk {
  readonly kv: Kv;
  readonly revision: number;
  readonly request: WalkRequest;
}

async function walk({ kv, revision, request }: Walk, visit: (item: KeyValue) => void): Promise<WalkedData> {
  const { prefix, signal, onProgress } = request;
  const end = prefix === "" ? END_OF_KEYS : prefixEnd(prefix);
  const { count: total } = await kv.range({ start: prefix, end, revision, countOnly: true });
  let [keys, bytes] = [0, 0];
  let [start, limit] = [prefix, FIRST_PAGE_KEYS];
  for (;;) {
    signal.throwIfAborted();
    const page: RangeResult = await kv.range({ start, end, revision, limit });
    for (const item of page.items) {
      keys++;
      bytes += Buffer.byteLength(item.key) + item.value.length;
      visit(item);
    }
    onProgress({ done: keys, total });
    const last = page.items.at(-1);
    if (last === undefined || page.count <= page.items.length) break;
    // A key that is not UTF-8 is decoded to another key, from which the next page could begin forever.
    if (keys > total) break;
    start = keyAfter(last.key);
    limit = pageKeys(bytes / keys);
  }
  if (keys !== total)
    throw new StoredDataError(
      `etcd returned ${keys} of ${total} keys at revision ${revision}, because some keys are not UTF-8: inspect a snapshot instead`,
    );
  return { keys, bytes };
}

function pageKeys(averageBytes: number): number {
  return Math.max(1, Math.min(PAGE_KEYS_MAX, Math.floor(PAGE_BYTES / averageBytes)));
}

function explain(thrown: unknown, shown: string): unknown {
  if (!(thrown instanceof StorageError)) return thrown;
  return new StoredDataError(sentenceOf(thrown, shown), { cause: thrown });
}

function sentenceOf({ code, message }: StorageError, shown: string): string {
  if (code === "revision-compacted")
    return `etcd discarded the revision while it was read (compaction): run the command again, or inspect a snapshot of ${shown}`;
  if (/permission denied|user name is empty|invalid auth token/.test(message))
    return `etcd at ${shown} denied the request: use a client certificate whose user may read all keys (${message})`;
  return `etcd at ${shown} cannot be read: ${message}`;
}
