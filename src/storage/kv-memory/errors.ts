/** The failures that the memory and the SQLite store word alike. */
import { StorageError } from "../kv.ts";

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
