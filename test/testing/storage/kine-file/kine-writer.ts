/** Writes databases as kine has them, from the same histories as the files of etcd. */
import { DatabaseSync } from "node:sqlite";
import type { StoredChange } from "../etcd-file/etcd-writer.ts";

const SCHEMA = `
  CREATE TABLE kine (
    id INTEGER PRIMARY KEY AUTOINCREMENT, name INTEGER, created INTEGER, deleted INTEGER, create_revision INTEGER,
    prev_revision INTEGER, lease INTEGER, value BLOB, old_value BLOB
  );
  CREATE INDEX kine_name_index ON kine (name);
  CREATE UNIQUE INDEX kine_name_prev_revision_uindex ON kine (name, prev_revision);
`;

/** Leaves the database open and in write-ahead mode, as k3s does while it runs. */
export function writeKineFile(path: string, changes: Iterable<StoredChange>): DatabaseSync {
  const db = new DatabaseSync(path);
  db.exec("PRAGMA journal_mode = WAL");
  db.exec(SCHEMA);
  const insert = db.prepare("INSERT INTO kine VALUES (?, ?, ?, ?, ?, ?, 0, ?, NULL)");
  db.exec("BEGIN");
  insert.run(1, "compact_rev_key", 1, 0, 0, 0, Buffer.alloc(0));
  const newest = new Map<string, number>();
  for (const { key, value, revision, createRevision, version } of changes) {
    const isDelete = value === undefined ? 1 : 0;
    const created = version === 1 ? 1 : 0;
    insert.run(revision, key, created, isDelete, created ? 0 : createRevision, newest.get(key) ?? 0, value ?? null);
    newest.set(key, revision);
  }
  db.exec("COMMIT");
  return db;
}
