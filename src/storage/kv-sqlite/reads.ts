/**
 * Reads ranges and history from the database in pages. Runs in the worker. Every page is bounded, so a commit waits for
 * at most one page.
 */
import type { DatabaseSync, StatementSync } from "node:sqlite";
import { HISTORY_REVISIONS_MAX, PAGE_BYTES_MAX, PAGE_KEYS_MAX, PAGE_ROWS_SCANNED_MAX } from "./sqlite-limits.ts";
import type { HistoryPage, HistoryPageRequest, PackedRows, PackedRangePage, RangePageRequest } from "./protocol.ts";
import { prepareArrays } from "./writes.ts";

/** Columns: rev, create_rev, prev_rev, deleted, value. */
type LogRow = [number, number, number, number, Uint8Array | null];

interface ReadPoint {
  readonly revision: number;
  readonly newestRevision: number;
}

export class RowReader {
  readonly #scan: StatementSync;
  readonly #logRow: StatementSync;
  readonly #count: StatementSync;
  readonly #changedSince: StatementSync;
  readonly #history: StatementSync;

  constructor(db: DatabaseSync) {
    this.#scan = prepareArrays(
      db,
      `SELECT cur.key, log.rev, log.create_rev, log.prev_rev, log.deleted, log.value
       FROM cur JOIN log ON log.rev = cur.rev WHERE cur.key >= ? AND cur.key < ? ORDER BY cur.key`,
    );
    this.#logRow = prepareArrays(db, "SELECT rev, create_rev, prev_rev, deleted, value FROM log WHERE rev = ?");
    this.#count = prepareArrays(db, "SELECT count(*) FROM cur WHERE key >= ? AND key < ? AND rev <= ? AND deleted = 0");
    this.#changedSince = prepareArrays(db, "SELECT rev FROM cur WHERE key >= ? AND key < ? AND rev > ?");
    this.#history = prepareArrays(
      db,
      `SELECT rev, key, create_rev, deleted, value FROM log
       WHERE rev >= ? AND rev <= ? AND key >= ? AND key < ? ORDER BY rev`,
    );
  }

  rangePage(request: RangePageRequest, point: ReadPoint): PackedRangePage {
    const pack = new Packer();
    const keysMax = Math.min(request.limit, PAGE_KEYS_MAX);
    let nextStart: string | undefined;
    let scanned = 0;
    // A limit of 0 requests only the count, which needs no scan.
    const rows = keysMax === 0 ? [] : this.#scan.iterate(request.start, request.end);
    for (const row of rows) {
      const [key, ...newest] = row as unknown as [string, ...LogRow];
      if (pack.isFull(keysMax) || ++scanned > PAGE_ROWS_SCANNED_MAX) {
        nextStart = key;
        break;
      }
      const version = this.#versionAt(newest, point.revision);
      if (version !== undefined)
        pack.add({ key, createRevision: version[1], modRevision: version[0], value: version[4] ?? EMPTY });
    }
    return {
      kind: "range",
      rows: pack.finish(),
      revision: point.newestRevision,
      count: request.isCounted ? this.#countAt(request, point.revision) : 0,
      nextStart,
    };
  }

  historyPage(request: HistoryPageRequest, newestRevision: number): HistoryPage {
    const pack = new Packer();
    let throughRevision = Math.min(newestRevision, request.fromRevision + HISTORY_REVISIONS_MAX);
    for (const row of this.#history.iterate(request.fromRevision, throughRevision, request.prefix, request.end)) {
      const [revision, key, createRevision, deleted, value] = row as unknown as [
        number,
        string,
        number,
        number,
        Uint8Array | null,
      ];
      if (pack.isFull(PAGE_KEYS_MAX)) {
        throughRevision = revision - 1;
        break;
      }
      pack.add({ key, createRevision, modRevision: revision, value: deleted === 1 ? undefined : (value ?? EMPTY) });
    }
    return { kind: "history", rows: pack.finish(), throughRevision, isLast: throughRevision >= newestRevision };
  }

  #versionAt(newest: LogRow, revision: number): LogRow | undefined {
    let version: LogRow | undefined = newest;
    // The row of the previous change may have been deleted by compaction. In that case the key was absent at the
    // requested revision, because compaction keeps values that were current then.
    while (version !== undefined && version[0] > revision) {
      version = this.#logRow.get(version[2]) as unknown as LogRow | undefined;
    }
    return version === undefined || version[3] === 1 ? undefined : version;
  }

  #countAt(request: RangePageRequest, revision: number): number {
    const [unchanged] = this.#count.get(request.start, request.end, revision) as unknown as [number];
    let count = unchanged;
    for (const row of this.#changedSince.iterate(request.start, request.end, revision)) {
      const newest = this.#logRow.get((row as unknown as [number])[0]) as unknown as LogRow;
      if (this.#versionAt(newest, revision) !== undefined) count++;
    }
    return count;
  }
}

const EMPTY = new Uint8Array(0);

interface Row {
  readonly key: string;
  readonly createRevision: number;
  readonly modRevision: number;
  /** Undefined for a deletion. */
  readonly value: Uint8Array | undefined;
}

class Packer {
  readonly #rows: Row[] = [];
  #bytes = 0;

  /** A page holds at least one row, even if the row exceeds the size limit. */
  isFull(rowsMax: number): boolean {
    return this.#rows.length >= rowsMax || this.#bytes >= PAGE_BYTES_MAX;
  }

  add(row: Row): void {
    this.#rows.push(row);
    this.#bytes += row.value?.length ?? 0;
  }

  finish(): PackedRows {
    const values = new Uint8Array(this.#bytes);
    let offset = 0;
    for (const { value } of this.#rows) {
      if (value === undefined) continue;
      values.set(value, offset);
      offset += value.length;
    }
    return {
      keys: this.#rows.map((row) => row.key),
      createRevisions: this.#rows.map((row) => row.createRevision),
      modRevisions: this.#rows.map((row) => row.modRevision),
      lengths: this.#rows.map((row) => row.value?.length ?? -1),
      values: values.buffer,
    };
  }
}
