/**
 * Reads the live keys of kine's database, in which k3s keeps its cluster without etcd. The table has a row for each
 * change since the last compaction, so the newest row of a name counts.
 */
import { closeSync, existsSync } from "node:fs";
import { DatabaseSync } from "node:sqlite";
import { pathToFileURL } from "node:url";
import { openRegularFile } from "../database-file/open-regular-file.ts";
import { Slices, type SliceOptions } from "../database-file/slices.ts";
import { requireKineTable, revisionRange, type RevisionRange } from "./kine-table.ts";
import { RowWalk, type KineItem } from "./row-walk.ts";
import { throwingFileErrors } from "./sqlite-problem.ts";

/** How many rows are read between two looks at the clock. */
const ROWS_PER_LOOK = 64;
const BUSY_TIMEOUT_MS = 2000;

/** Throws a `DatabaseFileError`, or an error of the system. */
export function openKineFile(path: string): KineFile {
  closeSync(openRegularFile(path));
  return throwingFileErrors(() => {
    const hasJournal = existsSync(`${path}-wal`) || existsSync(`${path}-journal`);
    const db = new DatabaseSync(hasJournal ? path : immutable(path), { readOnly: true, timeout: BUSY_TIMEOUT_MS });
    try {
      // A hostile schema must not call functions.
      db.exec("PRAGMA trusted_schema = OFF; PRAGMA cell_size_check = ON");
      // Holds the state of this moment until the file is closed, even while k3s is running.
      db.exec("BEGIN");
      requireKineTable(db);
      return new KineFile(db, revisionRange(db), hasJournal);
    } catch (thrown) {
      db.close();
      throw thrown;
    }
  });
}

/**
 * The location of a file without a journal beside it. "immutable" keeps SQLite from creating one, which it does even for
 * a read-only connection.
 */
function immutable(path: string): URL {
  const location = pathToFileURL(path);
  location.searchParams.set("immutable", "1");
  return location;
}

class KineFile {
  readonly #db: DatabaseSync;
  readonly #range: RevisionRange;
  /** Whether a journal was beside the file, which has the newest writes while k3s is running. */
  readonly hasJournal: boolean;

  /** Takes over the connection. */
  constructor(db: DatabaseSync, range: RevisionRange, hasJournal: boolean) {
    this.#db = db;
    this.#range = range;
    this.hasJournal = hasJournal;
  }

  /** The newest revision of the store. */
  get revision(): number {
    return this.#range.newest;
  }

  /** Calls `visit` once per live key that begins with the prefix, the most recently changed first. */
  async walk(
    { prefix, ...options }: SliceOptions & { readonly prefix: string },
    visit: (item: KineItem) => void,
  ): Promise<{ readonly keys: number; readonly bytes: number }> {
    const slices = new Slices(options);
    const { oldest, newest } = this.#range;
    const total = newest - oldest + 1;
    const rows = throwingFileErrors(() => new RowWalk(this.#db, prefix, visit));
    while (rows.read(ROWS_PER_LOOK)) {
      if (slices.isOver) await slices.next(newest - rows.lastRevision + 1, total);
    }
    options.onProgress({ done: total, total });
    return { keys: rows.keys, bytes: rows.bytes };
  }

  close(): void {
    this.#db.close();
  }
}
