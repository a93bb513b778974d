/** The failures that several stores word alike. */
import { StorageError } from "./kv.ts";

/** Larger values are rejected with `too-large`; well above what a request body may hold. */
export const VALUE_BYTES_MAX = 8 * 1024 * 1024;

export function compactedError(revision: number, compactRevision: number): StorageError {
  return new StorageError(
    "revision-compacted",
    `Revision ${revision} has been compacted; the oldest one left is ${compactRevision}.`,
    {
      revision: compactRevision,
    },
  );
}

export function futureError(revision: number, newest: number): StorageError {
  return new StorageError("revision-future", `Revision ${revision} does not exist yet; the newest one is ${newest}.`, {
    revision: newest,
  });
}

export function closedError(): StorageError {
  return new StorageError("unavailable", "The store has been closed.");
}

export function leaseError(lease: string): StorageError {
  return new StorageError(
    "lease-not-found",
    `There is no lease ${lease}: it was never granted, was revoked, or has expired.`,
  );
}

export function tooLargeError(key: string, bytes: number): StorageError {
  return new StorageError(
    "too-large",
    `The value of ${key} has ${bytes} bytes; at most ${VALUE_BYTES_MAX} can be stored.`,
  );
}
