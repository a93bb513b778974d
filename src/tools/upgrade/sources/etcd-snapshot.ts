/** Stored data from a database file of etcd: a snapshot, or the file of a member. */
import { openEtcdFile, type EtcdFile } from "../../../storage/etcd-file/etcd-file.ts";
import type { StoredData, WalkRequest } from "../stored-data.ts";
import { asStoredData } from "./as-stored-data.ts";

export type OpenRequest = Omit<WalkRequest, "prefix">;

/**
 * Verifies the SHA-256 of a snapshot, so it reads the whole file once. Rejects with a `StoredDataError` or with the
 * reason of the signal.
 */
export async function openEtcdSnapshot(path: string, request: OpenRequest): Promise<StoredData> {
  const file = await asStoredData(path, () => openEtcdFile(path, request));
  return {
    source: `${file.isHashed ? "etcd snapshot" : "etcd database"} ${path}`,
    revision: file.revision,
    warnings: warningsOf(file),
    walk: (options, visit) => asStoredData(path, () => file.walk(options, visit)),
    close: async () => file.close(),
  };
}

function warningsOf(file: EtcdFile): string[] {
  const warnings: string[] = [];
  if (!file.isHashed) {
    warnings.push(
      "the file is not a snapshot but the database of a member: its newest writes may be only in the write-ahead log of " +
        "etcd, and it has no checksum",
    );
  }
  if (file.mayMissTransaction) {
    warnings.push("one of the two meta pages of the file is invalid, so its last transaction may be missing");
  }
  return warnings;
}
