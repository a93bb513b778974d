/** Recognizes a database file by its first bytes, because backups have any name. */
import { closeSync, readSync } from "node:fs";
import { openRegularFile } from "./open-regular-file.ts";

const SQLITE_MAGIC = Buffer.from("SQLite format 3\0");

/** Whether a file is a SQLite database. Throws an error of the system, or a `DatabaseFileError`. */
export function isSqliteFile(path: string): boolean {
  const descriptor = openRegularFile(path);
  try {
    const magic = Buffer.alloc(SQLITE_MAGIC.length);
    return readSync(descriptor, magic, 0, magic.length, 0) === magic.length && magic.equals(SQLITE_MAGIC);
  } finally {
    closeSync(descriptor);
  }
}
