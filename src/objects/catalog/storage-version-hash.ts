import { createHash } from "node:crypto";

const HASH_BYTES = 8;

/** The storageVersionHash in discovery. The core group is the empty string. */
export function storageVersionHash(group: string, version: string, kind: string): string {
  const digest = createHash("sha256").update(`${group}/${version}/${kind}`).digest();
  return digest.subarray(0, HASH_BYTES).toString("base64");
}
