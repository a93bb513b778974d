import { mkdtempSync, readdirSync, rmSync } from "node:fs";
import { open, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { describe, expect, test } from "vitest";
import {
  Recorder,
  bytes,
  create,
  describeEvent,
  expectStorageError,
  put,
  remove,
} from "../../../test/testing/storage/conformance/kv-fixture.ts";
import { kvSuite } from "../../../test/testing/storage/conformance/kv-suite.ts";
import { createManualClock } from "../../../test/testing/storage/conformance/manual-clock.ts";
import type { Kv } from "../kv.ts";
import { VALUE_BYTES_MAX } from "../kv-errors.ts";
import { openSqliteKv, type SqliteKvOptions } from "./kv.ts";
import { COMPACTION_STEP_REVISIONS, QUEUED_BYTES_MAX, QUEUED_WRITES_MAX } from "./sqlite-limits.ts";
import { realClock } from "../../../test/testing/real-clock.ts";

/** A worker that opens the store when it receives the options, and exits at the first request. */
const DYING_WORKER = new URL(
  `data:text/javascript,${encodeURIComponent(`
    import { parentPort } from "node:worker_threads";
    parentPort.once("message", () => {
      parentPort.on("message", () => process.exit(1));
      parentPort.postMessage({ kind: "opened", revision: 1, leases: [] });
    });
  `)}`,
);

class TempStore implements AsyncDisposable {
  readonly directory = mkdtempSync(join(tmpdir(), "evenkeel-kv-"));
  readonly #handles: Kv[] = [];

  async open(options: Partial<SqliteKvOptions> = {}): Promise<Kv> {
    const kv = await openSqliteKv({ directory: this.directory, clock: realClock(), ...options });
    this.#handles.push(kv);
    return kv;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    for (const kv of this.#handles) await kv.close();
    rmSync(this.directory, { recursive: true, force: true });
  }

  /** Queries the file as the sqlite3 shell would. */
  query(sql: string): unknown[] {
    const db = new DatabaseSync(join(this.directory, "evenkeel.db"));
    try {
      return db
        .prepare(sql)
        .all()
        .map((row) => ({ ...row }));
    } finally {
      db.close();
    }
  }
}

kvSuite(
  "the SQLite store",
  async () => {
    const store = new TempStore();
    const clock = createManualClock();
    const kv = await store.open({ clock });
    return {
      kv,
      advance: clock.advance,
      reopen: () => store.open(),
      [Symbol.asyncDispose]: () => store[Symbol.asyncDispose](),
    };
  },
  { isExclusive: true },
);

describe("commits of the SQLite store", () => {
  test("are delivered to watches before they are acknowledged", async () => {
    await using store = new TempStore();
    const kv = await store.open();
    const recorder = Recorder.start(kv, { prefix: "/a/", fromRevision: 2 });
    const revision = await create(kv, "/a/x");
    expect(recorder.all.map((event) => describeEvent(event, "/a/"))).toEqual([`put x@${revision}`]);
    expect(recorder.progressRevisions.at(-1)).toBe(revision);
  });

  test("check a guard after the earlier writes of the same batch", async () => {
    await using store = new TempStore();
    const kv = await store.open();
    const first = (await kv.currentRevision()) + 1;
    const write = (key: string, revision: number) =>
      kv.commit({ kind: "put", key, value: bytes(key), expectedRevision: 0, guards: [{ key: "/guard", revision }] });
    const results = await Promise.all([
      write("/a", 0),
      create(kv, "/guard"),
      write("/b", 0),
      write("/c", first + 1),
      remove(kv, "/guard", first + 1),
      write("/d", first + 1),
      write("/e", 0),
    ]);
    const lost = { committed: false, lostGuard: "/guard", current: undefined };
    expect(results).toEqual([
      { committed: true, revision: first },
      first + 1,
      { ...lost, revision: first + 1 },
      { committed: true, revision: first + 2 },
      first + 3,
      { ...lost, revision: first + 3 },
      { committed: true, revision: first + 4 },
    ]);
  });

  test("are rejected as overloaded while the queue is full, and are accepted again when it has drained", async () => {
    await using store = new TempStore();
    const kv = await store.open();
    const change = { kind: "delete", key: "/a/x", expectedRevision: 0 } as const;
    const accepted = Array.from({ length: QUEUED_WRITES_MAX }, () => kv.commit(change));
    await expectStorageError(kv.commit(change), "overloaded");
    const results = await Promise.all(accepted);
    expect(results.every((result) => !result.committed)).toBe(true);
    await create(kv, "/a/x");
  });

  test("are rejected as overloaded when the queue holds too many bytes", async () => {
    await using store = new TempStore();
    const kv = await store.open({ workerUrl: DYING_WORKER });
    const change = { kind: "put", key: "/a/x", value: Buffer.alloc(VALUE_BYTES_MAX), expectedRevision: 0 } as const;
    const accepted = Array.from({ length: QUEUED_BYTES_MAX / VALUE_BYTES_MAX }, () => kv.commit(change));
    await expectStorageError(kv.commit(change), "overloaded");
    const outcomes = await Promise.allSettled(accepted);
    const codes = outcomes.map((outcome) => outcome.status === "rejected" && (outcome.reason as { code: string }).code);
    // A write that has reached the worker thread may have taken effect, so it is undecided; a write that has not is
    // unavailable.
    expect(new Set(codes)).toEqual(new Set(["undecided", "unavailable"]));
  });

  test("fail as a whole batch without effect on a full disk, and succeed again once space is free", async () => {
    await using store = new TempStore();
    const kv = await store.open({ sizeBytesMax: 1024 * 1024 });
    const key = "/a/x";
    const first = await create(kv, key, Buffer.alloc(300_000));
    const second = await put(kv, { key, value: Buffer.alloc(300_000), expectedRevision: first });
    const attempt = { kind: "put", key, value: Buffer.alloc(700_000), expectedRevision: second } as const;
    const small = kv.commit({ kind: "put", key: "/a/small", value: bytes("s"), expectedRevision: 0 });
    const [, large] = await Promise.allSettled([small, kv.commit(attempt)]);
    expect(large).toMatchObject({ status: "rejected", reason: { name: "StorageError", code: "unavailable" } });
    await expectStorageError(small, "unavailable");
    expect(await kv.currentRevision()).toBe(second);
    expect((await kv.range({ start: "/a/", end: "/b" })).items.map((item) => item.modRevision)).toEqual([second]);
    await kv.compact(second);
    expect(await put(kv, { key, value: Buffer.alloc(200_000), expectedRevision: second })).toBe(second + 1);
  });

  test("can be read by another program while the store is open", async () => {
    await using store = new TempStore();
    const kv = await store.open();
    const revision = await create(kv, "/registry/x", '{"a":1}');
    expect(store.query("SELECT key, rev, value FROM objects")).toEqual([
      { key: "/registry/x", rev: revision, value: '{"a":1}' },
    ]);
  });
});

describe("compaction of the SQLite store", () => {
  test("removes replaced values and deletions from the file, in many steps", async () => {
    await using store = new TempStore();
    const kv = await store.open();
    let revision = await create(kv, "/a/hot", "0");
    for (let index = 1; index <= COMPACTION_STEP_REVISIONS + 100; index++) {
      revision = await put(kv, { key: "/a/hot", value: String(index), expectedRevision: revision });
    }
    await remove(kv, "/a/gone", await create(kv, "/a/gone"));
    const last = await create(kv, "/a/last");
    await kv.compact(last);
    await kv.close();
    const reopened = await store.open();
    await rowsRemoved(store, reopened);
    expect(store.query("SELECT key, rev FROM log ORDER BY rev")).toEqual([
      { key: "/a/hot", rev: revision },
      { key: "/a/last", rev: last },
    ]);
    expect(store.query("SELECT key FROM cur ORDER BY key")).toEqual([{ key: "/a/hot" }, { key: "/a/last" }]);
  });

  test("keeps a deletion at the compacted revision, so that the revision counter does not go back", async () => {
    await using store = new TempStore();
    const first = await store.open();
    const deleted = await remove(first, "/a/x", await create(first, "/a/x"));
    await first.compact(deleted);
    await rowsRemoved(store, first);
    await first.close();
    const second = await store.open();
    expect(await second.currentRevision()).toBe(deleted);
    const [event] = await Recorder.start(second, { prefix: "/a/", fromRevision: deleted }).first(1);
    expect(event).toEqual({ kind: "delete", key: "/a/x", modRevision: deleted });
    const next = await create(second, "/b/y");
    expect(next).toBe(deleted + 1);
    await second.compact(next);
    await rowsRemoved(store, second);
    expect(store.query("SELECT key FROM cur")).toEqual([{ key: "/b/y" }]);
  });
});

/** Compaction runs between requests, so this function sends requests until the rows are removed. */
async function rowsRemoved(store: TempStore, kv: Kv): Promise<void> {
  const done =
    "SELECT 1 FROM meta AS a JOIN meta AS b USING (value) WHERE a.name = 'compact_done' AND b.name = 'compact_revision'";
  while (store.query(done).length === 0) await kv.range({ start: "/" });
}

describe("leases of the SQLite store", () => {
  test("expire in real time", async () => {
    await using store = new TempStore();
    const kv = await store.open();
    const lease = await kv.leaseGrant(0.2);
    const revision = await put(kv, { key: "/a/x", value: "x", expectedRevision: 0, lease });
    const recorder = Recorder.start(kv, { prefix: "/a/", fromRevision: revision + 1 });
    expect((await recorder.first(1)).map((event) => describeEvent(event, "/a/"))).toEqual([`delete x@${revision + 1}`]);
  });

  test("have their full TTL again after a restart of the store", async () => {
    await using store = new TempStore();
    const clock = createManualClock();
    const first = await store.open({ clock });
    const lease = await first.leaseGrant(10);
    const revision = await put(first, { key: "/a/x", value: "x", expectedRevision: 0, lease });
    clock.advance(9000);
    await first.close();
    clock.advance(60_000);
    const second = await store.open({ clock });
    clock.advance(9000);
    await second.leaseKeepAlive(lease);
    const recorder = Recorder.start(second, { prefix: "/a/", fromRevision: revision + 1 });
    clock.advance(10_000);
    expect((await recorder.first(1)).map((event) => describeEvent(event, "/a/"))).toEqual([`delete x@${revision + 1}`]);
    const third = await second.leaseGrant(10);
    expect(third).not.toBe(lease);
  });
});

describe("the SQLite store cannot be opened if", () => {
  test("its directory is in use, even by the same process", async () => {
    await using store = new TempStore();
    const kv = await store.open();
    const error = await expectStorageError(store.open(), "unavailable");
    expect(error.message).toBe(
      `The directory ${store.directory} is in use by another server, process ${process.pid}: stop that server or choose another directory.`,
    );
    await create(kv, "/a/x");
    await kv.close();
    await store.open();
  });

  test("its file is not a database", async () => {
    await using store = new TempStore();
    await writeFile(join(store.directory, "evenkeel.db"), Buffer.alloc(10_000, "not a database"));
    const error = await expectStorageError(store.open(), "corrupt");
    expect(error.message).toContain(store.directory);
  });

  test("its file is the database of another program", async () => {
    await using store = new TempStore();
    const other = new DatabaseSync(join(store.directory, "evenkeel.db"));
    other.exec("CREATE TABLE t (a)");
    other.close();
    await expectStorageError(store.open(), "corrupt");
  });

  test("its file has an unknown format", async () => {
    await using store = new TempStore();
    await (await store.open()).close();
    store.query("UPDATE meta SET value = 99 WHERE name = 'format' RETURNING value");
    const error = await expectStorageError(store.open(), "unavailable");
    expect(error.message).toContain("has format 99, written by a newer Evenkeel");
  });

  test("its directory cannot be created", async () => {
    await using store = new TempStore();
    await writeFile(join(store.directory, "file"), "");
    await expectStorageError(store.open({ directory: join(store.directory, "file", "below") }), "unavailable");
  });

  test.runIf(process.platform === "linux")(
    "no process could create its path, and the attempt fails at once",
    async () => {
      await using store = new TempStore();
      const error = await expectStorageError(store.open({ directory: "/proc/foo" }), "unavailable");
      expect(error.message).toMatch(/^The directory \/proc\/foo cannot be used: ENOENT: /);
    },
  );

  test("its worker file is missing", async () => {
    await using store = new TempStore();
    await expectStorageError(store.open({ workerUrl: new URL("./no-such-worker.ts", import.meta.url) }), "unavailable");
  });
});

describe("the SQLite store", () => {
  test("reports a damaged page as corrupt", async () => {
    await using store = new TempStore();
    const first = await store.open();
    await Promise.all(
      Array.from({ length: 200 }, (_, index) => create(first, `/a/${index}`, Buffer.alloc(3000, index))),
    );
    await first.close();
    await damage(join(store.directory, "evenkeel.db"));
    const outcome = (async () => (await store.open()).range({ start: "/a/", end: "/b" }))();
    await expectStorageError(outcome, "corrupt");
  });

  test("fails pending calls, ends watches and can still be closed after its worker has exited", async () => {
    await using store = new TempStore();
    const kv = await store.open({ workerUrl: DYING_WORKER });
    const recorder = Recorder.start(kv, { prefix: "/a/", fromRevision: 2 });
    const commit = kv.commit({ kind: "put", key: "/a/x", value: bytes("x"), expectedRevision: 0 });
    await expectStorageError(kv.range({ start: "/a/x" }), "unavailable");
    await expectStorageError(commit, "undecided");
    expect(await recorder.closing()).toMatchObject({ code: "unavailable" });
    await expectStorageError(kv.range({ start: "/a/x" }), "unavailable");
    await kv.close();
    expect(recorder.closings).toHaveLength(1);
  });

  test("leaves one database file and its lock file when it is closed", async () => {
    await using store = new TempStore();
    const kv = await store.open();
    await create(kv, "/a/x");
    await kv.close();
    expect(readdirSync(store.directory).sort()).toEqual(["evenkeel.db", "evenkeel.lock"]);
  });
});

/** Overwrites all pages but the first two. */
async function damage(file: string): Promise<void> {
  await using handle = await open(file, "r+");
  const { size } = await handle.stat();
  await handle.write(Buffer.alloc(size - 8192, 0xa5), 0, size - 8192, 8192);
}
