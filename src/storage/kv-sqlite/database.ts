/**
 * Opens the database file, and creates its schema and settings. Runs in the worker.
 *
 * `log` holds every change since the last compaction, `cur` the newest change of every key, including deleted keys
 * until compaction removes them. Each change refers to the previous change of its key (`prev_rev`), so a read at an old
 * revision goes back from `cur` and needs no second index over the log.
 */
import { closeSync, fsyncSync, openSync } from "node:fs";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { StorageError } from "../kv.ts";
import { DatabaseFiles, rejectSavedLog } from "./database-files.ts";
import { lockDirectory, type DirectoryLock } from "./directory-lock.ts";
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
 * Commits wait while SQLite checkpoints the write-ahead log: fewer pages between checkpoints mean shorter but more
 * frequent waits. 4,000 pages keep a wait near 25 ms under full load. `journal_size_limit` truncates the write-ahead
 * log after a burst. The page cache needs to hold little more than the inner pages and the table of keys, because reads
 * are served by the watch cache, and new values are appended.
 */
const SETTINGS = `
  PRAGMA synchronous = FULL;
  PRAGMA wal_autocheckpoint = 4000;
  PRAGMA journal_size_limit = 67108864;
  PRAGMA cache_size = -4096;
  PRAGMA temp_store = MEMORY;
`;

/** How long an outside reader (the sqlite3 shell) may block a write before the write fails. */
const BUSY_TIMEOUT_MS = 2000;
const PAGE_BYTES = 4096;

export interface Database {
  readonly db: DatabaseSync;
  readonly files: DatabaseFiles;
  readonly lock: DirectoryLock;
}

export function openDatabase(options: WorkerOptions): Database {
  const { directory } = options;
  const lock = lockDirectory(directory, options.holder);
  try {
    rejectSavedLog(directory);
  } catch (thrown) {
    lock.release();
    throw thrown;
  }
  const db = new DatabaseSync(join(directory, "evenkeel.db"), { timeout: BUSY_TIMEOUT_MS });
  try {
    db.exec("PRAGMA journal_mode = WAL");
    db.exec(SETTINGS);
    ensureSchema(db, directory);
    if (options.sizeBytesMax !== undefined)
      db.exec(`PRAGMA max_page_count = ${Math.ceil(options.sizeBytesMax / PAGE_BYTES)}`);
    syncDirectory(directory);
    return { db, files: new DatabaseFiles(directory), lock };
  } catch (thrown) {
    db.close();
    lock.release();
    throw thrown;
  }
}

export function closeDatabase({ db, files, lock }: Database): void {
  files.close();
  try {
    db.exec("PRAGMA wal_checkpoint(TRUNCATE)");
  } finally {
    db.close();
    lock.release();
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
    throw new StorageError("corrupt", `The file evenkeel.db in ${directory} is not an Evenkeel database.`);
  }
  const format = db.prepare("SELECT value FROM meta WHERE name = 'format'").get()?.["value"];
  if (format === FORMAT) return;
  if (typeof format !== "number" || format < FORMAT) {
    throw new StorageError("corrupt", `The database in ${directory} has no format version.`);
  }
  throw new StorageError(
    "unavailable",
    `The database in ${directory} has format ${format}, written by a newer Evenkeel; this version supports formats up to ${FORMAT}.`,
  );
}

/** Makes the directory entry of a new file durable; SQLite syncs only the file itself. */
function syncDirectory(directory: string): void {
  const handle = openSync(directory, "r");
  try {
    fsyncSync(handle);
  } finally {
    closeSync(handle);
  }
}
