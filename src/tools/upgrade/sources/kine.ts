/** Stored data from kine's SQLite database, in which k3s keeps a cluster without etcd. */
import { openKineFile } from "../../../storage/kine-file/kine-file.ts";
import type { StoredData } from "../stored-data.ts";
import { asStoredData } from "./as-stored-data.ts";

const WITHOUT_JOURNAL =
  "no write-ahead log (state.db-wal) is beside the file: if the file was copied while k3s was running, its newest writes " +
  "are missing";

/** Rejects with a `StoredDataError`. */
export async function openKine(path: string): Promise<StoredData> {
  const file = await asStoredData(path, () => openKineFile(path));
  return {
    source: `k3s database ${path}`,
    revision: file.revision,
    warnings: file.hasJournal ? [] : [WITHOUT_JOURNAL],
    walk: (options, visit) => asStoredData(path, () => file.walk(options, visit)),
    close: async () => file.close(),
  };
}
