/**
 * Compacts history. One small transaction marks a revision as compacted. The rows are then deleted in steps, between
 * which commits can run; after a restart, compaction continues after the last completed step.
 *
 * Compaction to revision C deletes every change below C that a later change at or before C has replaced, and every
 * deletion below C. All changes at or above C stay, so that a watch can start at C and the revision counter is
 * preserved.
 */
import type { DatabaseSync, StatementSync } from "node:sqlite";
import { COMPACTION_STEP_REVISIONS } from "./sqlite-limits.ts";

export class Compactor {
  readonly #db: DatabaseSync;
  readonly #setMeta: StatementSync;
  readonly #deleteReplaced: StatementSync;
  readonly #deleteCurrent: StatementSync;
  readonly #deleteDeletions: StatementSync;
  #revision: number;
  #doneRevision: number;

  constructor(db: DatabaseSync) {
    this.#db = db;
    this.#setMeta = db.prepare("UPDATE meta SET value = ? WHERE name = ?");
    this.#deleteReplaced = db.prepare(
      "DELETE FROM log WHERE rev IN (SELECT prev_rev FROM log WHERE rev > ? AND rev <= ? AND prev_rev > 0)",
    );
    this.#deleteCurrent = db.prepare(
      "DELETE FROM cur WHERE deleted = 1 AND (key, rev) IN (SELECT key, rev FROM log WHERE rev >= ? AND rev < ? AND deleted = 1)",
    );
    this.#deleteDeletions = db.prepare("DELETE FROM log WHERE rev >= ? AND rev < ? AND deleted = 1");
    this.#revision = readMeta(db, "compact_revision");
    this.#doneRevision = readMeta(db, "compact_done");
  }

  /** The oldest readable revision. */
  get revision(): number {
    return this.#revision;
  }

  get hasWork(): boolean {
    return this.#doneRevision < this.#revision;
  }

  mark(revision: number): void {
    if (revision <= this.#revision) return;
    this.#setMeta.run(revision, "compact_revision");
    this.#revision = revision;
  }

  step(): void {
    const from = this.#doneRevision;
    const through = Math.min(this.#revision, from + COMPACTION_STEP_REVISIONS);
    this.#db.exec("BEGIN IMMEDIATE");
    try {
      this.#deleteReplaced.run(from, through);
      this.#deleteCurrent.run(from, through);
      this.#deleteDeletions.run(from, through);
      this.#setMeta.run(through, "compact_done");
      this.#db.exec("COMMIT");
    } catch (thrown) {
      if (this.#db.isTransaction) this.#db.exec("ROLLBACK");
      throw thrown;
    }
    this.#doneRevision = through;
  }
}

function readMeta(db: DatabaseSync, name: string): number {
  const value = db.prepare("SELECT value FROM meta WHERE name = ?").get(name)?.["value"];
  return typeof value === "number" ? value : 0;
}
