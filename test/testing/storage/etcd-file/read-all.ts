/** Opens a database file, reads all its keys, and closes it. */
import type { SliceOptions } from "../../../../src/storage/database-file/slices.ts";
import { openEtcdFile } from "../../../../src/storage/etcd-file/etcd-file.ts";
import type { LiveKey } from "./key-history.ts";

export interface ReadFile {
  readonly revision: number;
  readonly isHashed: boolean;
  readonly mayMissTransaction: boolean;
  readonly keys: ReadonlyMap<string, LiveKey>;
  /** The counts of the reader. */
  readonly walked: { readonly keys: number; readonly bytes: number };
}

export const QUIETLY: SliceOptions = { signal: new AbortController().signal, onProgress: () => {} };

export async function readAll(path: string, prefix = ""): Promise<ReadFile> {
  const file = await openEtcdFile(path, QUIETLY);
  try {
    const keys = new Map<string, LiveKey>();
    const walked = await file.walk({ ...QUIETLY, prefix }, ({ key, value, createRevision, modRevision }) => {
      keys.set(key, { value: Buffer.from(value), createRevision, modRevision });
    });
    const { revision, isHashed, mayMissTransaction } = file;
    return { revision, isHashed, mayMissTransaction, keys, walked };
  } finally {
    file.close();
  }
}
