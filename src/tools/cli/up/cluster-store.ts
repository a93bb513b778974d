/** Opens the store of `evenkeel up`: in the data directory, or in etcd. */
import { requireSome } from "../etcd-servers.ts";
import { createSystemClock } from "../../../client/system.ts";
import type { StorageConfig } from "../../../server/config.ts";
import { openSqliteKv } from "../../../storage/kv-sqlite/kv.ts";
import type { Kv } from "../../../storage/kv.ts";

interface StoreFlags {
  readonly etcdServers?: readonly string[];
}

export interface ClusterStore {
  readonly config: StorageConfig;
  /** The embedded store; undefined with etcd, because every server has its own connections. */
  readonly kv: Kv | undefined;
  close(): unknown;
}

/**
 * Opens the store and locks the directory. It is locked even with etcd, because its certificates and control socket
 * belong to one cluster.
 */
export async function openClusterStore(flags: StoreFlags, directory: string): Promise<ClusterStore> {
  const config = storageOf(flags, directory);
  const holder = "evenkeel up";
  if (config.kind === "embedded") {
    const kv = await openSqliteKv({ directory, holder, clock: createSystemClock() });
    return { config, kv, close: () => kv.close() };
  }
  // Imported dynamically, because no other command needs SQLite in this thread.
  const { lockDirectory } = await import("../../../storage/kv-sqlite/directory-lock.ts");
  const lock = lockDirectory(directory, holder);
  return { config, kv: undefined, close: () => lock.release() };
}

export function storageOf({ etcdServers }: StoreFlags, directory: string): StorageConfig {
  if (etcdServers === undefined) return { kind: "embedded", directory };
  requireSome(etcdServers);
  return { kind: "etcd", endpoints: etcdServers };
}
