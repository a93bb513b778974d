/** Translates failures of SQLite and of the file system to errors of the storage port. */
import { StorageError } from "../kv.ts";

const SQLITE_BUSY = 5;
const SQLITE_CORRUPT = 11;
const SQLITE_NOTADB = 26;

function resultCode(thrown: unknown): number | undefined {
  if (typeof thrown !== "object" || thrown === null || !("errcode" in thrown) || typeof thrown.errcode !== "number")
    return undefined;
  // The low byte of SQLite's extended error code is the primary error code.
  return thrown.errcode & 0xff;
}

export function isBusy(thrown: unknown): boolean {
  return resultCode(thrown) === SQLITE_BUSY;
}

export function sqliteStorageError(thrown: unknown, directory: string): StorageError {
  if (thrown instanceof StorageError) return thrown;
  const code = resultCode(thrown);
  const reason = thrown instanceof Error ? thrown.message : String(thrown);
  if (code === SQLITE_CORRUPT || code === SQLITE_NOTADB) {
    return new StorageError("corrupt", `The database in ${directory} is damaged: ${reason}.`, { cause: thrown });
  }
  return new StorageError("unavailable", `The database in ${directory} cannot be used: ${reason}.`, { cause: thrown });
}
