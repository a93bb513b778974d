/**
 * Reads the live keys of a database file of etcd: a snapshot, or the file of a member. It is read-only and needs no
 * etcd, so a cluster can be inspected from its backup alone.
 *
 * The bucket "key" has every change since the last compaction, in the order of revisions. The reader goes from the
 * newest change to the oldest, so the first change of a key that it meets is the one that counts, and it needs to
 * remember only which keys it has met.
 */
import { closeSync } from "node:fs";
import { openRegularFile } from "../database-file/open-regular-file.ts";
import { readMeta, type ChosenMeta } from "./bolt-meta.ts";
import { ChangeWalk, type EtcdFileItem } from "./change-walk.ts";
import { findBucket, leavesBackwards, smallBucketValue, type Bucket } from "./bolt-tree.ts";
import { DatabaseFileError } from "../database-file/database-file-error.ts";
import { damaged } from "./damaged.ts";
import { PageReader } from "./page-reader.ts";
import { RawFile } from "./raw-file.ts";
import { RevisionKey } from "./revision-key.ts";
import { Slices, type SliceOptions } from "../database-file/slices.ts";
import { isGzip, unpack } from "./unpack.ts";
import { verifyHash } from "./verify-hash.ts";

interface EtcdFileWalked {
  readonly keys: number;
  readonly bytes: number;
}

/** How many changes are read between two looks at the clock. */
const CHANGES_PER_LOOK = 64;

/** Rejects with an `DatabaseFileError`, an error of the system, or the reason of the signal. */
export async function openEtcdFile(path: string, options: SliceOptions): Promise<EtcdFile> {
  const file = await openUnpacked(path, options);
  try {
    const meta = readMeta(file);
    if (file.isHashed) await verifyHash(file, options);
    return new EtcdFile(file, meta);
  } catch (thrown) {
    file.close();
    throw thrown;
  }
}

async function openUnpacked(path: string, options: SliceOptions): Promise<RawFile> {
  const descriptor = openRegularFile(path);
  if (!isGzip(descriptor)) return new RawFile(descriptor);
  try {
    return new RawFile(await unpack(descriptor, options));
  } finally {
    closeSync(descriptor);
  }
}

export class EtcdFile {
  readonly #file: RawFile;
  readonly #meta: ChosenMeta;
  readonly #changes: Bucket;
  readonly #compacted: number;
  /** The newest revision of the store. */
  readonly revision: number;

  /** Takes over the file. */
  constructor(file: RawFile, meta: ChosenMeta) {
    this.#file = file;
    this.#meta = meta;
    const pages = new PageReader(file, meta);
    const changes = findBucket(pages, meta.rootPage, "key");
    if (changes === undefined) {
      throw new DatabaseFileError(
        'is a bbolt database, but not one of etcd: it has no bucket "key"; pass a snapshot of etcd',
      );
    }
    this.#changes = changes;
    this.#compacted = compactedRevision(pages, meta);
    this.revision = Math.max(1, newestRevision(pages, changes), this.#compacted);
  }

  /** Whether the file ends with a SHA-256, which has been verified. */
  get isHashed(): boolean {
    return this.#file.isHashed;
  }

  /** Whether one of the meta pages is invalid, so that the last transaction may be missing. */
  get mayMissTransaction(): boolean {
    return !this.#meta.isOtherValid;
  }

  /** Calls `visit` once per live key that begins with the prefix, the most recently changed first. */
  async walk(
    { prefix, ...options }: SliceOptions & { readonly prefix: string },
    visit: (item: EtcdFileItem) => void,
  ): Promise<EtcdFileWalked> {
    const slices = new Slices(options);
    const changes = new ChangeWalk(this.#file, prefix, visit);
    const total = this.#meta.pageCount * this.#meta.pageSize;
    let done = 0;
    for (const leaf of leavesBackwards(new PageReader(this.#file, this.#meta), this.#changes)) {
      done += leaf.size;
      for (let last = leaf.count; last > 0; last -= CHANGES_PER_LOOK) {
        changes.read(leaf, Math.max(0, last - CHANGES_PER_LOOK), last);
        if (slices.isOver) await slices.next(Math.min(done, total), total);
      }
    }
    this.#requireUnchanged();
    options.onProgress({ done: total, total });
    return { keys: changes.keys, bytes: changes.bytes };
  }

  close(): void {
    this.#file.close();
  }

  /**
   * bbolt overwrites pages of a transaction only after the next one is complete, so everything that was read belongs
   * together if the newest transaction is still the same.
   */
  #requireUnchanged(): void {
    if (readMeta(this.#file).transaction === this.#meta.transaction) return;
    throw new DatabaseFileError(
      'changed while it was read, so an etcd is using it; take a snapshot with "etcdctl snapshot save" and pass that',
    );
  }
}

/** etcd compacts in the background: the scheduled revision counts as soon as the compaction has been requested. */
function compactedRevision(pages: PageReader, meta: ChosenMeta): number {
  const bucket = findBucket(pages, meta.rootPage, "meta");
  if (bucket === undefined) return 0;
  const revisions = ["finishedCompactRev", "scheduledCompactRev"].map((name) => {
    const bytes = smallBucketValue(pages, bucket, name);
    return bytes === undefined || bytes.length < 8 ? 0 : Number(bytes.readBigUInt64BE(0));
  });
  const newest = Math.max(...revisions);
  if (!Number.isSafeInteger(newest)) throw damaged("its compacted revision is beyond 2^53");
  return newest;
}

function newestRevision(pages: PageReader, changes: Bucket): number {
  const revision = new RevisionKey();
  for (const leaf of leavesBackwards(pages, changes)) {
    if (leaf.count === 0) continue;
    leaf.select(leaf.count - 1);
    revision.decode(leaf);
    return revision.main;
  }
  return 0;
}
