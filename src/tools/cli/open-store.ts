/** Opens the embedded store of `evenkeel serve`, with the thread that was started while the program was loaded. */
import type { Env } from "../../server/env.ts";
import { openSqliteKv } from "../../storage/kv-sqlite/kv.ts";
import { StorageError, type Kv } from "../../storage/kv.ts";
import { CommandFailure } from "./failure.ts";
import { idleStorageThread } from "./start-storage-early.ts";

export async function openStore(directory: string, { clock }: Env): Promise<Kv> {
  try {
    return await openSqliteKv({ directory, holder: "evenkeel serve", clock, idleThread: idleStorageThread });
  } catch (thrown) {
    if (thrown instanceof StorageError) throw new CommandFailure(thrown.message, 1);
    throw thrown;
  }
}
