/** Checks that a SQLite database is one of kine, before its rows are read. */
import type { DatabaseSync } from "node:sqlite";
import { DatabaseFileError } from "../database-file/database-file-error.ts";
import { damagedDatabase } from "./sqlite-problem.ts";

const COLUMNS: readonly string[] = ["id", "name", "created", "deleted", "create_revision", "value"];

/** The oldest and newest revision that the table has. */
export interface RevisionRange {
  readonly oldest: number;
  readonly newest: number;
}

/** A view, a virtual table or a computed column could run for hours, so only a plain table is accepted. */
export function requireKineTable(db: DatabaseSync): void {
  const table = db.prepare("SELECT type, wr FROM pragma_table_list('kine') WHERE schema = 'main'").get();
  const plain = db
    .prepare("SELECT name FROM pragma_table_xinfo('kine') WHERE hidden = 0")
    .all()
    .map((column) => String(column["name"]));
  if (table?.["type"] === "table" && table["wr"] === 0 && COLUMNS.every((name) => plain.includes(name))) return;
  throw new DatabaseFileError(
    "is a SQLite database, but not one of kine; pass server/db/state.db of the data directory of k3s",
  );
}

export function revisionRange(db: DatabaseSync): RevisionRange {
  const newest = db.prepare("SELECT max(rowid) AS id FROM kine").get()?.["id"];
  const oldest = db.prepare("SELECT min(rowid) AS id FROM kine").get()?.["id"];
  if (typeof newest !== "number" || typeof oldest !== "number") return { oldest: 1, newest: 0 };
  if (oldest < 1) throw damagedDatabase("a row has no positive ID");
  return { oldest, newest };
}
