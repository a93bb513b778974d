/**
 * The messages of etcd's v3 API that this client uses, with the field numbers of etcd's rpc.proto and kv.proto.
 * Encoders return a whole gRPC frame; decoders take a message without its frame.
 */
import type { Change, Guard, KeyValue, LeaseId } from "../kv.ts";
import { encodeFrame } from "../grpc/frames.ts";
import { type GrpcWriter, DecodeError, GrpcReader } from "../grpc/wire.ts";

export const METHOD = {
  range: "/etcdserverpb.KV/Range",
  txn: "/etcdserverpb.KV/Txn",
  compact: "/etcdserverpb.KV/Compact",
  leaseGrant: "/etcdserverpb.Lease/LeaseGrant",
  leaseRevoke: "/etcdserverpb.Lease/LeaseRevoke",
  leaseKeepAlive: "/etcdserverpb.Lease/LeaseKeepAlive",
  watch: "/etcdserverpb.Watch/Watch",
  health: "/grpc.health.v1.Health/Check",
} as const;

/** Size hint for the tags, lengths and numbers of any request, without its keys and values. */
const OVERHEAD_BYTES = 160;
/** Additional size hint for each guard of a change. */
const GUARD_OVERHEAD_BYTES = 40;

export interface RangeMessage {
  readonly key: string;
  /** Exclusive end. If it is absent, the range is only `key`; "\0" means all keys from `key` on. */
  readonly rangeEnd?: string;
  readonly limit?: number;
  readonly revision?: number;
  readonly countOnly?: boolean;
  /** Return keys and revisions without values. */
  readonly keysOnly?: boolean;
}

/** The fields of etcd's ResponseHeader by which a client recognizes the history of the store. */
export interface EtcdHeader {
  readonly clusterId: bigint;
  readonly revision: number;
  readonly raftTerm: bigint;
}

export interface RangeResponse {
  readonly header: EtcdHeader;
  readonly items: KeyValue[];
  readonly hasMore: boolean;
  readonly count: number;
}

export interface TxnResponse {
  readonly header: EtcdHeader;
  readonly succeeded: boolean;
  /** The written key as read by the first range of the failure branch. */
  readonly current: KeyValue | undefined;
  /**
   * The modRevisions that the other ranges of the failure branch returned, one for each guard; 0 if the guard's key is
   * absent.
   */
  readonly guardRevisions: readonly number[];
  /** Number of keys that the delete of the success branch removed. */
  readonly deleted: number;
}

export function encodeEmpty(): Buffer {
  return encodeFrame(0, () => {});
}

export function encodeRange(request: RangeMessage): Buffer {
  const size = 2 * (request.key.length + (request.rangeEnd?.length ?? 0)) + OVERHEAD_BYTES;
  return encodeFrame(size, (writer) => writeRange(writer, request));
}

function writeRange(writer: GrpcWriter, request: RangeMessage): void {
  writer.string(1, request.key);
  writer.string(2, request.rangeEnd ?? "");
  writer.int64(3, request.limit ?? 0);
  writer.int64(4, request.revision ?? 0);
  writer.bool(8, request.keysOnly ?? false);
  writer.bool(9, request.countOnly ?? false);
}

const COMPARE_TARGET_MOD = 2;

/**
 * Encodes a transaction. If the key's mod_revision is the expected one and all guards hold, etcd applies the change;
 * otherwise it returns a range of the key and of each guard's key.
 */
export function encodeCommit(change: Change): Buffer {
  const { key, expectedRevision } = change;
  const valueBytes = change.kind === "put" ? change.value.length : 0;
  const { guards = [] } = change;
  const guardBytes = guards.reduce((sum, guard) => sum + 3 * guard.key.length + GUARD_OVERHEAD_BYTES, 0);
  return encodeFrame(4 * key.length + guardBytes + valueBytes + OVERHEAD_BYTES, (txn) => {
    txn.message(1, (compare) => writeCompare(compare, { key, revision: expectedRevision }));
    for (const guard of guards) txn.message(1, (compare) => writeCompare(compare, guard));
    txn.message(2, (operation) => writeChange(operation, change));
    txn.message(3, (operation) => operation.message(1, (range) => writeRange(range, { key })));
    for (const guard of guards)
      txn.message(3, (operation) =>
        operation.message(1, (range) => writeRange(range, { key: guard.key, keysOnly: true })),
      );
  });
}

/** To etcd, an absent key has mod_revision 0. */
function writeCompare(compare: GrpcWriter, { key, revision }: Guard): void {
  compare.int64(2, COMPARE_TARGET_MOD);
  compare.string(3, key);
  compare.int64(6, revision);
}

function writeChange(operation: GrpcWriter, change: Change): void {
  if (change.kind === "delete") {
    operation.message(3, (request) => request.string(1, change.key));
    return;
  }
  operation.message(2, (request) => {
    request.string(1, change.key);
    request.bytes(2, change.value);
    if (change.lease !== undefined) request.bigInt64(3, BigInt(change.lease));
  });
}

export function encodeCompact(revision: number): Buffer {
  return encodeFrame(0, (writer) => writer.int64(1, revision));
}

export function encodeLeaseGrant(ttlSeconds: number): Buffer {
  return encodeFrame(0, (writer) => writer.int64(1, ttlSeconds));
}

/** Encodes a revoke or a keep-alive: both contain only the lease. */
export function encodeLeaseReference(lease: LeaseId): Buffer {
  return encodeFrame(0, (writer) => writer.bigInt64(1, BigInt(lease)));
}

export function decodeRange(message: Buffer): RangeResponse {
  const response = readRange(new GrpcReader(message));
  requireRevision(response.header);
  return response;
}

function readRange(reader: GrpcReader): RangeResponse {
  let header = NO_HEADER;
  let hasMore = false;
  let count = 0;
  const items: KeyValue[] = [];
  while (reader.next()) {
    if (reader.field === 2) items.push(readKeyValue(reader.message()));
    else if (reader.field === 1) header = readHeader(reader.message());
    else if (reader.field === 3) hasMore = reader.bool();
    else if (reader.field === 4) count = reader.int64();
    else reader.skip();
  }
  return { header, items, hasMore, count };
}

export function decodeTxn(message: Buffer): TxnResponse {
  const reader = new GrpcReader(message);
  let header = NO_HEADER;
  let succeeded = false;
  const outcome: TxnOutcome = { found: [], deleted: 0 };
  while (reader.next()) {
    if (reader.field === 1) header = readHeader(reader.message());
    else if (reader.field === 2) succeeded = reader.bool();
    else if (reader.field === 3) readOperation(reader.message(), outcome);
    else reader.skip();
  }
  const { found, deleted } = outcome;
  const guardRevisions = found.slice(1).map((item) => item?.modRevision ?? 0);
  requireRevision(header);
  return { header, succeeded, current: found[0], guardRevisions, deleted };
}

interface TxnOutcome {
  /** The keys that the ranges of the failure branch returned: first the written key, then the guards' keys. */
  readonly found: (KeyValue | undefined)[];
  deleted: number;
}

function readOperation(operation: GrpcReader, outcome: TxnOutcome): void {
  while (operation.next()) {
    if (operation.field === 1) outcome.found.push(readRange(operation.message()).items[0]);
    else if (operation.field === 3) outcome.deleted = readDeleted(operation.message());
    else operation.skip();
  }
}

function readDeleted(reader: GrpcReader): number {
  let deleted = 0;
  while (reader.next()) {
    if (reader.field === 2) deleted = reader.int64();
    else reader.skip();
  }
  return deleted;
}

/** Responses to LeaseGrant and LeaseKeepAlive have the same first three fields. */
export function decodeLease(message: Buffer): { lease: LeaseId; ttlSeconds: number } {
  const reader = new GrpcReader(message);
  let lease = 0n;
  let ttlSeconds = 0;
  while (reader.next()) {
    if (reader.field === 2) lease = reader.bigInt64();
    else if (reader.field === 3) ttlSeconds = reader.int64();
    else reader.skip();
  }
  return { lease: lease.toString(), ttlSeconds };
}

const NO_HEADER: EtcdHeader = { clusterId: 0n, revision: 0, raftTerm: 0n };

export function readHeader(reader: GrpcReader): EtcdHeader {
  let clusterId = 0n;
  let revision = 0;
  let raftTerm = 0n;
  while (reader.next()) {
    if (reader.field === 1) clusterId = BigInt.asUintN(64, reader.bigInt64());
    else if (reader.field === 3) revision = reader.int64();
    else if (reader.field === 4) raftTerm = BigInt.asUintN(64, reader.bigInt64());
    else reader.skip();
  }
  return { clusterId, revision, raftTerm };
}

/** Rejects a response without a revision, which would look like an empty store; etcd's first revision is 1. */
function requireRevision({ revision }: EtcdHeader): void {
  if (revision < 1) throw new DecodeError("a response has no revision");
}

export function readKeyValue(reader: GrpcReader): KeyValue {
  let key = "";
  let value = NO_BYTES;
  let createRevision = 0;
  let modRevision = 0;
  while (reader.next()) {
    if (reader.field === 1) key = reader.string();
    else if (reader.field === 2) createRevision = reader.int64();
    else if (reader.field === 3) modRevision = reader.int64();
    else if (reader.field === 5) value = ownBytes(reader.bytes());
    else reader.skip();
  }
  return { key, value, createRevision, modRevision };
}

const NO_BYTES: Buffer = Buffer.alloc(0);

/**
 * Returns the view itself if the value is most of the memory behind it, otherwise a copy. A small value that stays in a
 * cache would keep a whole page or network buffer in memory.
 */
export function ownBytes(view: Buffer): Buffer {
  return view.buffer.byteLength > 2 * view.length + 1024 ? Buffer.from(view) : view;
}
