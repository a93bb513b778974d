/** Opens a file with the stored data of a cluster, whichever of the known formats it has. */
import { isSqliteFile } from "../../../storage/database-file/is-sqlite-file.ts";
import type { StoredData } from "../stored-data.ts";
import { asStoredData } from "./as-stored-data.ts";
import { openEtcdSnapshot, type OpenRequest } from "./etcd-snapshot.ts";
import { openKine } from "./kine.ts";

/** Decides by the content. Rejects with a `StoredDataError` or with the reason of the signal. */
export async function openStoredDataFile(path: string, request: OpenRequest): Promise<StoredData> {
  const isSqlite = await asStoredData(path, () => isSqliteFile(path));
  return isSqlite ? openKine(path) : openEtcdSnapshot(path, request);
}
