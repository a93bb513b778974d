/** Errors that several implementations of the storage port throw. */
import { StorageError } from "./kv.ts";

/** Stores reject larger values with `too-large`. The limit is well above the size limit of request bodies. */
export const VALUE_BYTES_MAX = 8 * 1024 * 1024;

export function compactedError(revision: number, compactRevision: number): StorageError {
  return new StorageError(
    "revision-compacted",
    `Revision ${revision} has been compacted; the oldest available revision is ${compactRevision}.`,
    {
      revision: compactRevision,
    },
  );
}

export function futureError(revision: number, newest: number): StorageError {
  return new StorageError(
    "revision-future",
    `Revision ${revision} does not exist yet; the newest revision is ${newest}.`,
    {
      revision: newest,
    },
  );
}

export function historyChangedError(cause: string): StorageError {
  return new StorageError("history-changed", cause);
}

export function closedError(): StorageError {
  return new StorageError("unavailable", "The store has been closed.");
}

export function leaseError(lease: string): StorageError {
  return new StorageError(
    "lease-not-found",
    `Lease ${lease} does not exist: it was never granted, was revoked, or has expired.`,
  );
}

export function tooLargeError(key: string, bytes: number): StorageError {
  return new StorageError("too-large", `The value of ${key} has ${bytes} bytes; the limit is ${VALUE_BYTES_MAX}.`);
}
