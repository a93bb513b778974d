/**
 * The messages between the event loop and the worker that owns the database. The worker replies to requests in the
 * order in which they were sent, with exactly one reply each; it replies to `write` after its COMMIT.
 */
import type { Guard, LeaseId, StorageErrorCode } from "../kv.ts";

export interface WorkerOptions {
  readonly directory: string;
  readonly holder: string | undefined;
  readonly sizeBytesMax: number | undefined;
}

/**
 * The values of the puts are in one transferred buffer, because posting pooled Buffers would clone their whole pools.
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
  | { kind: "delete"; key: string; expectedRevision: number }
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
  /** Whether the reply needs `count`: true for the first page of a limited range. */
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

/** Rows of a page: `values` holds their values one after another. A length of -1 is a deletion. */
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
  /** Every change up to this revision is in this page or one before it. */
  readonly throughRevision: number;
  readonly isLast: boolean;
}

export interface WorkerError {
  readonly kind: "error";
  readonly code: StorageErrorCode;
  readonly message: string;
  readonly revision: number | undefined;
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
