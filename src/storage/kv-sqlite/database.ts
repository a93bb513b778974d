/**
 * The database file: opening it alone, its schema and its settings. Runs in the worker.
 *
 * `log` has every change since the last compaction, `cur` the newest change of every key (also of
 * deleted ones, until they are compacted). A change names the key's change before it (`prev_rev`), so
 * an old revision is read by going back from `cur` and needs no second index over the log.
 */
import { closeSync, fsyncSync, mkdirSync, openSync } from "node:fs";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { StorageError } from "../kv.ts";
import type { WorkerOptions } from "./protocol.ts";

const FORMAT = 1;

const SCHEMA = `
  CREATE TABLE meta (name TEXT PRIMARY KEY, value INTEGER NOT NULL) STRICT, WITHOUT ROWID;
  CREATE TABLE log (
    rev INTEGER PRIMARY KEY, key TEXT NOT NULL, create_rev INTEGER NOT NULL, prev_rev INTEGER NOT NULL,
    deleted INTEGER NOT NULL, lease INTEGER, value BLOB
  ) STRICT;
  CREATE TABLE cur (
    key TEXT PRIMARY KEY, rev INTEGER NOT NULL, create_rev INTEGER NOT NULL, deleted INTEGER NOT NULL, lease INTEGER
  ) STRICT, WITHOUT ROWID;
  CREATE INDEX cur_lease ON cur (lease) WHERE lease IS NOT NULL;
  CREATE TABLE lease (id INTEGER PRIMARY KEY AUTOINCREMENT, ttl_seconds REAL NOT NULL) STRICT;
  CREATE VIEW objects AS
    SELECT cur.key, cur.rev, cur.create_rev, cur.lease, CAST(log.value AS TEXT) AS value
    FROM cur JOIN log ON log.rev = cur.rev WHERE cur.deleted = 0;
  INSERT INTO meta (name, value) VALUES ('format', ${FORMAT}), ('compact_revision', 0), ('compact_done', 0);
`;

/**
 * Commits wait while a checkpoint runs: fewer pages between checkpoints mean shorter waits and more of them.
 * 4,000 pages keep a wait near 25 ms under full load. The write-ahead log is cut back after a burst.
 */
const SETTINGS = `
  PRAGMA synchronous = FULL;
  PRAGMA wal_autocheckpoint = 4000;
  PRAGMA journal_size_limit = 67108864;
  PRAGMA cache_size = -16384;
  PRAGMA temp_store = MEMORY;
`;

/** How long a reader from outside (the sqlite3 shell) may hold up a write before it fails. */
const BUSY_TIMEOUT_MS = 2000;
const PAGE_BYTES = 4096;

export interface Database {
  readonly db: DatabaseSync;
  /** Held as long as the process lives: the system releases it whatever ends the process. */
  readonly lock: DatabaseSync;
}

export function openDatabase(options: WorkerOptions): Database {
  const { directory } = options;
  // Objects include Secrets: what we create is for this user only.
  mkdirSync(directory, { recursive: true, mode: 0o700 });
  const lock = takeLock(directory);
  const db = new DatabaseSync(join(directory, "evenkeel.db"), { timeout: BUSY_TIMEOUT_MS });
  try {
    db.exec("PRAGMA journal_mode = WAL");
    db.exec(SETTINGS);
    ensureSchema(db, directory);
    if (options.sizeBytesMax !== undefined)
      db.exec(`PRAGMA max_page_count = ${Math.ceil(options.sizeBytesMax / PAGE_BYTES)}`);
    syncDirectory(directory);
    return { db, lock };
  } catch (thrown) {
    db.close();
    lock.close();
    throw thrown;
  }
}

export function closeDatabase({ db, lock }: Database): void {
  try {
    db.exec("PRAGMA wal_checkpoint(TRUNCATE)");
  } finally {
    db.close();
    lock.close();
  }
}

/** A lock of the operating system on a file of its own: readers of the database itself stay welcome. */
function takeLock(directory: string): DatabaseSync {
  const lock = new DatabaseSync(join(directory, "evenkeel.lock"), { timeout: 0 });
  try {
    lock.exec("PRAGMA journal_mode = MEMORY; BEGIN EXCLUSIVE");
    return lock;
  } catch (thrown) {
    lock.close();
    if (!isBusy(thrown)) throw thrown;
    throw new StorageError("unavailable", `The storage directory ${directory} is in use by another server.`);
  }
}

function ensureSchema(db: DatabaseSync, directory: string): void {
  const tables = db
    .prepare("SELECT name FROM sqlite_schema WHERE type = 'table'")
    .all()
    .map((row) => row["name"]);
  if (tables.length === 0) {
    db.exec(`BEGIN IMMEDIATE; ${SCHEMA} COMMIT`);
    return;
  }
  if (!tables.includes("meta") || !tables.includes("log")) {
    throw new StorageError("corrupt", `The file evenkeel.db in ${directory} is not a database of Evenkeel.`);
  }
  const format = db.prepare("SELECT value FROM meta WHERE name = 'format'").get()?.["value"];
  if (format === FORMAT) return;
  if (typeof format !== "number" || format < FORMAT) {
    throw new StorageError("corrupt", `The database in ${directory} does not say which format it has.`);
  }
  throw new StorageError(
    "unavailable",
    `The database in ${directory} has format ${format}, written by a newer Evenkeel; this one knows formats up to ${FORMAT}.`,
  );
}

/** Makes the new file's name durable; SQLite itself only sees to the file. */
function syncDirectory(directory: string): void {
  const handle = openSync(directory, "r");
  try {
    fsyncSync(handle);
  } finally {
    closeSync(handle);
  }
}

const SQLITE_BUSY = 5;
const SQLITE_CORRUPT = 11;
const SQLITE_NOTADB = 26;

function resultCode(thrown: unknown): number | undefined {
  if (typeof thrown !== "object" || thrown === null || !("errcode" in thrown) || typeof thrown.errcode !== "number")
    return undefined;
  // The low byte is the kind of failure, the rest its detail.
  return thrown.errcode & 0xff;
}

function isBusy(thrown: unknown): boolean {
  return resultCode(thrown) === SQLITE_BUSY;
}

/** What SQLite or the file system reports, in the port's language. */
export function sqliteStorageError(thrown: unknown, directory: string): StorageError {
  if (thrown instanceof StorageError) return thrown;
  const code = resultCode(thrown);
  const reason = thrown instanceof Error ? thrown.message : String(thrown);
  if (code === SQLITE_CORRUPT || code === SQLITE_NOTADB) {
    return new StorageError("corrupt", `The database in ${directory} is damaged: ${reason}.`, { cause: thrown });
  }
  return new StorageError("unavailable", `The database in ${directory} cannot be used: ${reason}.`, { cause: thrown });
}
