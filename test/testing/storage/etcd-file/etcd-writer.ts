/** Writes database files as etcd has them: the bucket "key" with a history of changes, and the bucket "meta". */
import { GrpcWriter } from "../../../../src/storage/grpc/wire.ts";
import {
  BoltWriter,
  bucketValue,
  inlineBucketValue,
  USUAL_LAYOUT,
  type BoltEntry,
  type BoltLayout,
} from "./bolt-writer.ts";

export interface StoredChange {
  readonly key: string;
  /** Absent if the key was deleted. */
  readonly value?: Buffer;
  readonly revision: number;
  readonly subRevision: number;
  readonly createRevision: number;
  readonly version: number;
}

export interface EtcdFileOptions {
  readonly layout?: Partial<BoltLayout>;
  /** Whether the file ends with a SHA-256, as a snapshot does. The default is true. */
  readonly isHashed?: boolean;
  /** Whether the changes are stored inside the page of the buckets, as etcd does if there are only a few. */
  readonly isInline?: boolean;
  readonly compactedRevision?: number;
  readonly transaction?: number;
}

export function writeEtcdFile(path: string, changes: Iterable<StoredChange>, options: EtcdFileOptions = {}): void {
  const { isHashed = true, isInline = false, compactedRevision, transaction = 8 } = options;
  const writer = new BoltWriter(path, { ...USUAL_LAYOUT, ...options.layout });
  const value = isInline
    ? inlineBucketValue([...entriesOf(changes)])
    : bucketValue(writer.writeTree(entriesOf(changes)));
  const meta: BoltEntry[] = [{ key: Buffer.from("consistent_index"), value: bigEndian(7) }];
  if (compactedRevision !== undefined) {
    meta.push({ key: Buffer.from("finishedCompactRev"), value: revisionKey(compactedRevision, 0) });
  }
  const root = writer.writeTree([
    { key: Buffer.from("cluster"), value: inlineBucketValue([]), isBucket: true },
    { key: Buffer.from("key"), value, isBucket: true },
    { key: Buffer.from("meta"), value: inlineBucketValue(meta), isBucket: true },
  ]);
  writer.finish(root, { transaction, isHashed });
}

function* entriesOf(changes: Iterable<StoredChange>): Generator<BoltEntry> {
  for (const change of changes) {
    const { key, value, revision, subRevision, createRevision, version } = change;
    const record = new GrpcWriter(key.length + (value?.length ?? 0));
    record.string(1, key);
    if (value === undefined) {
      yield { key: Buffer.concat([revisionKey(revision, subRevision), Buffer.from("t")]), value: record.finish() };
      continue;
    }
    record.int64(2, createRevision);
    record.int64(3, revision);
    record.int64(4, version);
    record.bytes(5, value);
    yield { key: revisionKey(revision, subRevision), value: record.finish() };
  }
}

function revisionKey(main: number, sub: number): Buffer {
  return Buffer.concat([bigEndian(main), Buffer.from("_"), bigEndian(sub)]);
}

function bigEndian(value: number): Buffer {
  const bytes = Buffer.alloc(8);
  bytes.writeBigUInt64BE(BigInt(value));
  return bytes;
}
