/** Applies a batch of writes as one transaction, and increments the revision counter. Runs in the worker. */
import type { DatabaseSync, StatementSync } from "node:sqlite";
import type { Guard, LeaseId } from "../kv.ts";
import type { WireDeletion, WireKeyValue, WireWrite, WireWriteResult } from "./protocol.ts";

interface Current {
  readonly revision: number;
  /** The revision of the key's newest change; 0 if the key is deleted or never existed. */
  readonly liveRevision: number;
  readonly createRevision: number;
}

const NOTHING: Current = { revision: 0, liveRevision: 0, createRevision: 0 };

export class RowWriter {
  readonly #db: DatabaseSync;
  readonly #begin: StatementSync;
  readonly #commit: StatementSync;
  readonly #find: StatementSync;
  readonly #findValue: StatementSync;
  readonly #append: StatementSync;
  readonly #setCurrent: StatementSync;
  readonly #findLease: StatementSync;
  readonly #findLeaseKeys: StatementSync;
  readonly #insertLease: StatementSync;
  readonly #deleteLease: StatementSync;
  #revision: number;

  constructor(db: DatabaseSync) {
    this.#db = db;
    this.#begin = db.prepare("BEGIN IMMEDIATE");
    this.#commit = db.prepare("COMMIT");
    this.#find = prepareArrays(db, "SELECT rev, create_rev, deleted FROM cur WHERE key = ?");
    this.#findValue = prepareArrays(db, "SELECT value FROM log WHERE rev = ?");
    this.#append = db.prepare(
      "INSERT INTO log (rev, key, create_rev, prev_rev, deleted, lease, value) VALUES (?, ?, ?, ?, ?, ?, ?)",
    );
    this.#setCurrent = db.prepare(
      `INSERT INTO cur (key, rev, create_rev, deleted, lease) VALUES (?, ?, ?, ?, ?)
       ON CONFLICT (key) DO UPDATE SET rev = excluded.rev, create_rev = excluded.create_rev, deleted = excluded.deleted, lease = excluded.lease`,
    );
    this.#findLease = db.prepare("SELECT 1 FROM lease WHERE id = ?");
    this.#findLeaseKeys = prepareArrays(db, "SELECT key FROM cur WHERE lease = ? ORDER BY key");
    this.#insertLease = db.prepare("INSERT INTO lease (ttl_seconds) VALUES (?)");
    this.#deleteLease = db.prepare("DELETE FROM lease WHERE id = ?");
    // The newest change is the revision counter: compaction always keeps it in the log. As in etcd, an empty store has
    // revision 1, because 0 has a special meaning in Kubernetes.
    const newest = db.prepare("SELECT max(rev) AS rev FROM log").get()?.["rev"];
    this.#revision = typeof newest === "number" ? newest : 1;
  }

  get revision(): number {
    return this.#revision;
  }

  /** Applies all writes or none: if it throws, the database and the revision are unchanged. */
  apply(writes: readonly WireWrite[], values: ArrayBuffer): WireWriteResult[] {
    const before = this.#revision;
    this.#begin.run();
    try {
      const results = writes.map((write) => this.#applyOne(write, values));
      this.#commit.run();
      return results;
    } catch (thrown) {
      this.#revision = before;
      // Some failures, such as a full disk, have already ended the transaction.
      if (this.#db.isTransaction) this.#db.exec("ROLLBACK");
      throw thrown;
    }
  }

  #applyOne(write: WireWrite, values: ArrayBuffer): WireWriteResult {
    switch (write.kind) {
      case "put":
        return this.#put(write, new Uint8Array(values, write.offset, write.length));
      case "delete":
        return this.#delete(write);
      case "grant":
        return { kind: "granted", lease: String(this.#insertLease.run(write.ttlSeconds).lastInsertRowid) };
      case "revoke":
        return { kind: "revoked", deleted: this.#revoke(write.lease) };
    }
  }

  #put(write: WireWrite & { kind: "put" }, value: Uint8Array): WireWriteResult {
    const current = this.#current(write.key);
    const lostGuard = this.#lostAmong(write.guards);
    if (lostGuard !== undefined || current.liveRevision !== write.expectedRevision)
      return this.#conflict(write.key, current, lostGuard);
    const lease = write.lease === undefined ? null : Number(write.lease);
    if (lease !== null && this.#findLease.get(lease) === undefined) return { kind: "lease-not-found" };
    const revision = ++this.#revision;
    const createRevision = current.liveRevision === 0 ? revision : current.createRevision;
    this.#append.run(revision, write.key, createRevision, current.revision, 0, lease, value);
    this.#setCurrent.run(write.key, revision, createRevision, 0, lease);
    return { kind: "committed", revision, createRevision };
  }

  #delete(write: WireWrite & { kind: "delete" }): WireWriteResult {
    const current = this.#current(write.key);
    const lostGuard = this.#lostAmong(write.guards);
    const isExpected = current.liveRevision !== 0 && current.liveRevision === write.expectedRevision;
    if (lostGuard !== undefined || !isExpected) return this.#conflict(write.key, current, lostGuard);
    return { kind: "committed", revision: this.#deleteKey(write.key, current), createRevision: 0 };
  }

  #deleteKey(key: string, current: Current): number {
    const revision = ++this.#revision;
    this.#append.run(revision, key, 0, current.revision, 1, null, null);
    this.#setCurrent.run(key, revision, 0, 1, null);
    return revision;
  }

  #revoke(lease: LeaseId): WireDeletion[] {
    this.#deleteLease.run(Number(lease));
    const keys = this.#findLeaseKeys.all(Number(lease)) as unknown as [string][];
    return keys.map(([key]) => ({ key, revision: this.#deleteKey(key, this.#current(key)) }));
  }

  /**
   * The key of the first guard that does not hold. Checked inside the transaction, after the earlier writes of the
   * batch.
   */
  #lostAmong(guards: readonly Guard[] | undefined): string | undefined {
    return guards?.find(({ key, revision }) => this.#current(key).liveRevision !== revision)?.key;
  }

  #current(key: string): Current {
    const row = this.#find.get(key) as unknown as [number, number, number] | undefined;
    if (row === undefined) return NOTHING;
    const [revision, createRevision, deleted] = row;
    return { revision, createRevision, liveRevision: deleted === 1 ? 0 : revision };
  }

  #conflict(key: string, current: Current, lostGuard: string | undefined): WireWriteResult {
    return {
      kind: "conflict",
      revision: this.#revision,
      current: current.liveRevision === 0 ? undefined : this.#keyValue(key, current),
      lostGuard,
    };
  }

  #keyValue(key: string, current: Current): WireKeyValue {
    const [value] = this.#findValue.get(current.revision) as unknown as [Uint8Array | null];
    return {
      key,
      createRevision: current.createRevision,
      modRevision: current.revision,
      value: value ?? new Uint8Array(0),
    };
  }
}

/** Returns rows as arrays, which are cheaper than objects with named columns. */
export function prepareArrays(db: DatabaseSync, sql: string): StatementSync {
  const statement = db.prepare(sql);
  statement.setReturnArrays(true);
  return statement;
}
