/**
 * The messages between the event loop and the worker that owns the database. The worker replies to requests in the
 * order in which they were sent, with exactly one reply each. It replies to `write` after the COMMIT of the
 * transaction.
 */
import type { Guard, LeaseId, StorageErrorCode } from "../kv.ts";

export interface WorkerOptions {
  readonly directory: string;
  readonly holder: string | undefined;
  readonly sizeBytesMax: number | undefined;
}

/**
 * One write of a batch. The values of all puts are in one transferred buffer, because posting Buffers from Node's pool
 * would clone the whole pool.
 */
export type WireWrite =
  | {
      kind: "put";
      key: string;
      expectedRevision: number;
      offset: number;
      length: number;
      lease: LeaseId | undefined;
      guards: readonly Guard[] | undefined;
    }
  | { kind: "delete"; key: string; expectedRevision: number; guards: readonly Guard[] | undefined }
  | { kind: "grant"; ttlSeconds: number }
  | { kind: "revoke"; lease: LeaseId };

export type WireWriteResult =
  | { kind: "committed"; revision: number; createRevision: number }
  | { kind: "conflict"; revision: number; current: WireKeyValue | undefined; lostGuard: string | undefined }
  | { kind: "lease-not-found" }
  | { kind: "granted"; lease: LeaseId }
  | { kind: "revoked"; deleted: readonly WireDeletion[] };

export interface WireDeletion {
  readonly key: string;
  readonly revision: number;
}

export interface WireKeyValue {
  readonly key: string;
  readonly createRevision: number;
  readonly modRevision: number;
  readonly value: Uint8Array;
}

export interface RangePageRequest {
  readonly kind: "range";
  readonly start: string;
  readonly end: string;
  /** Undefined for the first page of a range at the newest revision. */
  readonly revision: number | undefined;
  readonly limit: number;
  /** Whether the reply must contain `count`: true for the first page of a limited range. */
  readonly isCounted: boolean;
}

export interface HistoryPageRequest {
  readonly kind: "history";
  readonly prefix: string;
  readonly end: string;
  readonly fromRevision: number;
}

export type WorkerRequest =
  | { readonly kind: "write"; readonly writes: readonly WireWrite[]; readonly values: ArrayBuffer }
  | RangePageRequest
  | HistoryPageRequest
  | { readonly kind: "compact"; readonly revision: number }
  | { readonly kind: "close" };

/** The rows of a page. `values` holds their values one after another; a length of -1 marks a deletion. */
export interface PackedRows {
  readonly keys: readonly string[];
  readonly createRevisions: readonly number[];
  readonly modRevisions: readonly number[];
  readonly lengths: readonly number[];
  readonly values: ArrayBuffer;
}

export interface PackedRangePage {
  readonly kind: "range";
  readonly rows: PackedRows;
  /** The newest revision of the store. */
  readonly revision: number;
  readonly count: number;
  /** The first key of the next page; undefined after the last page. */
  readonly nextStart: string | undefined;
}

export interface HistoryPage {
  readonly kind: "history";
  readonly rows: PackedRows;
  /** Every change up to this revision is in this page or in an earlier page. */
  readonly throughRevision: number;
  readonly isLast: boolean;
}

export interface WorkerError {
  readonly kind: "error";
  readonly code: StorageErrorCode;
  readonly message: string;
  readonly revision: number | undefined;
}

/** Sent without a request, once: the worker cannot use the database any more, and replies to no further request. */
export interface WorkerFailure {
  readonly kind: "failed";
  readonly error: WorkerError;
}

export type WorkerReply =
  | { readonly kind: "write"; readonly results: readonly WireWriteResult[]; readonly revision: number }
  | PackedRangePage
  | HistoryPage
  | { readonly kind: "done" }
  | WorkerError;

export type OpenReply =
  | {
      readonly kind: "opened";
      readonly revision: number;
      readonly leases: readonly { lease: LeaseId; ttlSeconds: number }[];
    }
  | WorkerError;
