/**
 * The stored data of a cluster, wherever it is: an etcd snapshot, a live etcd, or the database of k3s. The inspection
 * depends on this port only.
 */
export interface StoredItem {
  readonly key: string;
  /** The value as it is stored, possibly encrypted. The buffer is valid only until `visit` returns. */
  readonly value: Buffer;
  readonly createRevision: number;
  readonly modRevision: number;
}

export interface ReadProgress {
  /** Bytes or keys, whichever the source knows in advance. */
  readonly done: number;
  readonly total: number;
}

export interface StoredData {
  /** For the report, for example "etcd snapshot backup.db". */
  readonly source: string;
  /** The revision of the store that all items have in common. */
  readonly revision: number;
  /** Sentences about the source for the reader, for example that its newest writes may be missing. */
  readonly warnings: readonly string[];
  /**
   * Calls `visit` once for each live key under the prefix, in an order of the source's choice. May be called several
   * times. Rejects with a `StoredDataError` if the source cannot be read to its end, and with the reason of the signal.
   */
  walk(options: WalkRequest, visit: (item: StoredItem) => void): Promise<WalkedData>;
  close(): Promise<void>;
}

export interface WalkRequest {
  /** For example "/registry/"; "" for all keys. */
  readonly prefix: string;
  readonly signal: AbortSignal;
  readonly onProgress: (progress: ReadProgress) => void;
}

export interface WalkedData {
  readonly keys: number;
  /** The sizes of all keys and values. */
  readonly bytes: number;
}

/** The reason why a source cannot be read, as one sentence that names the file or the address, and what to do. */
export class StoredDataError extends Error {
  override readonly name = "StoredDataError";
}
