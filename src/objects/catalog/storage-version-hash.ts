/** Computes the storageVersionHash, by which clients detect that the storage version of a resource has changed. */
import { createHash } from "node:crypto";

const HASH_BYTES = 8;

/** The storageVersionHash of a resource in discovery documents. `group` is "" for the core group. */
export function storageVersionHash(group: string, version: string, kind: string): string {
  const digest = createHash("sha256").update(`${group}/${version}/${kind}`).digest();
  return digest.subarray(0, HASH_BYTES).toString("base64");
}
