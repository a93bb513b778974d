/**
 * Notices that another process has replaced the files of an open database, for example by copying a backup over them.
 * SQLite does not notice this: it would mix pages of both databases, and would write the old write-ahead log into the
 * new database when it is closed. Runs in the worker.
 *
 * While the database is open, only this process changes its file, so the file must look as it did after the last
 * operation of this process.
 */
import { closeSync, existsSync, fstatSync, ftruncateSync, openSync, readSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { StorageError } from "../kv.ts";

const DATABASE = "evenkeel.db";
const LOG = "evenkeel.db-wal";
/** Keeps the write-ahead log of a database that was replaced, until the operator has decided what to do with it. */
const SAVED_LOG = "evenkeel.db-wal.replaced";

/** The identity and the last change of a file; undefined if it does not exist. */
type FileState = string | undefined;

export class DatabaseFiles {
  readonly #directory: string;
  #database: FileState;
  #log: { readonly descriptor: number; readonly inode: bigint } | undefined;
  #replaced: StorageError | undefined;

  constructor(directory: string) {
    this.#directory = directory;
    this.note();
  }

  /** Remembers the state of the files. Called after each operation of this process. */
  note(): void {
    this.#database = stateOf(this.#path(DATABASE));
    if (this.#log === undefined && existsSync(this.#path(LOG))) {
      const descriptor = openSync(this.#path(LOG), "r+");
      this.#log = { descriptor, inode: fstatSync(descriptor, { bigint: true }).ino };
    }
  }

  /** Throws if the files were replaced since the last call of `note`. The database must then not be used any more. */
  check(): void {
    this.#replaced ??= this.#findReplacement();
    if (this.#replaced !== undefined) throw this.#replaced;
  }

  close(): void {
    if (this.#log !== undefined) closeSync(this.#log.descriptor);
    this.#log = undefined;
  }

  #findReplacement(): StorageError | undefined {
    const file = this.#changedFile();
    if (file === undefined) return undefined;
    const saved = this.#setLogAside();
    return new StorageError("unavailable", replacedMessage(this.#directory, file, saved));
  }

  #changedFile(): string | undefined {
    if (stateOf(this.#path(DATABASE)) !== this.#database) return DATABASE;
    if (this.#log === undefined) return undefined;
    const log = statSync(this.#path(LOG), { bigint: true, throwIfNoEntry: false });
    return log?.ino === this.#log.inode ? undefined : LOG;
  }

  /**
   * Saves the write-ahead log and empties it, so that SQLite does not write it into the new database. Returns false if
   * the log is empty.
   */
  #setLogAside(): boolean {
    if (this.#log === undefined) return false;
    const { descriptor } = this.#log;
    const bytes = Buffer.alloc(fstatSync(descriptor).size);
    if (bytes.length === 0) return false;
    for (let offset = 0; offset < bytes.length;) {
      const read = readSync(descriptor, bytes, offset, bytes.length - offset, offset);
      if (read === 0) break;
      offset += read;
    }
    writeFileSync(this.#path(SAVED_LOG), bytes, { mode: 0o600 });
    ftruncateSync(descriptor, 0);
    return true;
  }

  #path(name: string): string {
    return join(this.#directory, name);
  }
}

function stateOf(path: string): FileState {
  const stat = statSync(path, { bigint: true, throwIfNoEntry: false });
  return stat && [stat.dev, stat.ino, stat.size, stat.mtimeNs].join(" ");
}

function replacedMessage(directory: string, file: string, isLogSaved: boolean): string {
  return (
    `The file ${file} in ${directory} was replaced or changed while this server used it, so the server no longer uses it: ` +
    "stop the server before you restore a backup, and start it again." +
    (isLogSaved ? ` ${whatToDo(directory)}` : "")
  );
}

function whatToDo(directory: string): string {
  return (
    `Writes that ${DATABASE} did not contain yet are in ${join(directory, SAVED_LOG)}. If you have restored a backup, remove ` +
    `this file; if you have not, rename it to ${LOG}.`
  );
}

/** Throws if the operator has not decided about the write-ahead log of a replaced database. */
export function rejectSavedLog(directory: string): void {
  if (!existsSync(join(directory, SAVED_LOG))) return;
  throw new StorageError(
    "unavailable",
    `The file ${DATABASE} in ${directory} was replaced while a server used it. ${whatToDo(directory)}`,
  );
}
