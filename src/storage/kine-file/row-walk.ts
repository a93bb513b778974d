/** Decides which rows of kine's table are the newest of their names, and counts the live keys. */
import type { DatabaseSync, SQLOutputValue, StatementSync } from "node:sqlite";
import { SeenKeys, type KeyPlace } from "../database-file/seen-keys.ts";
import { damagedDatabase, throwingFileErrors } from "./sqlite-problem.ts";

export interface KineItem {
  readonly key: string;
  readonly value: Buffer;
  readonly createRevision: number;
  readonly modRevision: number;
}

type Row = Record<string, SQLOutputValue>;

/** Rows of kine's own, which are no keys of the cluster. */
const COMPACT_ROW = "compact_rev_key";
const VALUE_BYTES_MAX = 64 * 1024 * 1024;

const BACKWARDS =
  "SELECT rowid AS row, id, name, created, deleted, create_revision, length(value) AS size FROM kine ORDER BY rowid DESC";
const NAME = "SELECT name FROM kine WHERE rowid = ?";
const VALUE = "SELECT value FROM kine WHERE rowid = ?";

/** Reads rows from the newest to the oldest. */
export class RowWalk {
  keys = 0;
  bytes = 0;
  lastRevision = Infinity;
  readonly #rows: Iterator<Row, undefined>;
  readonly #name: StatementSync;
  readonly #value: StatementSync;
  readonly #prefix: string;
  readonly #visit: (item: KineItem) => void;
  readonly #seen = new SeenKeys((position, key) => this.#isAt(position, key));

  constructor(db: DatabaseSync, prefix: string, visit: (item: KineItem) => void) {
    this.#rows = db.prepare(BACKWARDS).iterate();
    this.#name = db.prepare(NAME);
    this.#value = db.prepare(VALUE);
    this.#prefix = prefix;
    this.#visit = visit;
  }

  /** Returns whether there may be more rows. */
  read(rowsMax: number): boolean {
    for (let count = 0; count < rowsMax; count++) {
      const next = throwingFileErrors(() => this.#rows.next());
      if (next.done === true) return false;
      this.#readRow(next.value);
    }
    return true;
  }

  #readRow(row: Row): void {
    const id = this.#idOf(row);
    const { name } = row;
    // Different names that are not UTF-8 would look the same.
    if (typeof name !== "string" || name.includes("\ufffd")) throw damagedDatabase(`row ${id} has no valid name`);
    if (name === COMPACT_ROW || !name.startsWith(this.#prefix)) return;
    const bytes = Buffer.from(name);
    if (!this.#seen.add({ bytes, start: 0, end: bytes.length, position: id })) return;
    if (isSet(row["deleted"])) return;
    const value = this.#valueOf(row, id);
    this.keys++;
    this.bytes += bytes.length + value.length;
    const createRevision = isSet(row["created"]) ? id : revisionOf(row["create_revision"]);
    this.#visit({ key: name, value, createRevision, modRevision: id });
  }

  /** The ID is the revision of the change. */
  #idOf({ id, row }: Row): number {
    if (typeof id !== "number" || id !== row || id < 1 || id >= this.lastRevision) {
      throw damagedDatabase("the IDs of its rows are not in order");
    }
    this.lastRevision = id;
    return id;
  }

  #valueOf({ size }: Row, id: number): Buffer {
    if (size === null || size === 0) return Buffer.alloc(0);
    if (typeof size !== "number" || size > VALUE_BYTES_MAX) throw damagedDatabase(`row ${id} is too large`);
    const value = throwingFileErrors(() => this.#value.get(id))?.["value"];
    if (value instanceof Uint8Array) return Buffer.from(value.buffer, value.byteOffset, value.byteLength);
    throw damagedDatabase(`the value of row ${id} is not binary`);
  }

  #isAt(position: number, { bytes, start, end }: KeyPlace): boolean {
    const name = throwingFileErrors(() => this.#name.get(position))?.["name"];
    return typeof name === "string" && bytes.toString("utf8", start, end) === name;
  }
}

function isSet(flag: SQLOutputValue | undefined): boolean {
  return flag !== null && flag !== undefined && flag !== 0;
}

function revisionOf(value: SQLOutputValue | undefined): number {
  return typeof value === "number" ? value : 0;
}
