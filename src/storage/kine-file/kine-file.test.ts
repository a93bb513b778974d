import {
  copyFileSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import fc from "fast-check";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { KeyHistory, type LiveKey } from "../../../test/testing/storage/etcd-file/key-history.ts";
import { QUIETLY } from "../../../test/testing/storage/etcd-file/read-all.ts";
import { writeKineFile } from "../../../test/testing/storage/kine-file/kine-writer.ts";
import { DatabaseFileError } from "../database-file/database-file-error.ts";
import { openKineFile } from "./kine-file.ts";

const CASES = Number(process.env["EVENKEEL_FUZZ_CASES"] ?? 200);

let directory: string;
let path: string;

beforeEach(() => {
  directory = mkdtempSync(join(tmpdir(), "evenkeel-kine-"));
  path = join(directory, "state.db");
});
afterEach(() => rmSync(directory, { recursive: true, force: true }));

function busyHistory(): KeyHistory {
  const history = new KeyHistory();
  for (let index = 0; index < 500; index++) history.put(`/registry/pods/shop/${index}`, "x".repeat(index * 10));
  for (let index = 0; index < 500; index += 2) history.put(`/registry/pods/shop/${index}`, `changed ${index}`);
  for (let index = 0; index < 500; index += 3) history.delete(`/registry/pods/shop/${index}`);
  for (let index = 0; index < 500; index += 9) history.put(`/registry/pods/shop/${index}`, `again ${index}`);
  history.put("/registry/secrets/shop/one", "");
  return history;
}

async function readAll(prefix = ""): Promise<{ revision: number; keys: Map<string, LiveKey>; bytes: number }> {
  const file = openKineFile(path);
  try {
    const keys = new Map<string, LiveKey>();
    const walked = await file.walk({ ...QUIETLY, prefix }, ({ key, ...item }) => void keys.set(key, item));
    expect(walked.keys).toBe(keys.size);
    return { revision: file.revision, keys, bytes: walked.bytes };
  } finally {
    file.close();
  }
}

function plain(keys: ReadonlyMap<string, LiveKey>): Record<string, unknown> {
  return Object.fromEntries(
    [...keys].map(([key, { value, createRevision, modRevision }]) => [
      key,
      [String(value), createRevision, modRevision],
    ]),
  );
}

describe("a database of kine", () => {
  test("of a stopped k3s has the keys that its history left, and no file is created beside it", async () => {
    const history = busyHistory();
    writeKineFile(path, history.changes).close();
    const { keys, revision } = await readAll();
    expect(plain(keys)).toEqual(plain(history.live));
    expect(revision).toBe(history.revision);
    expect(readdirSync(directory)).toEqual(["state.db"]);
  });

  test("of a running k3s has the keys that are still in the write-ahead log", async () => {
    const history = busyHistory();
    const db = writeKineFile(path, history.changes);
    expect(existsSync(`${path}-wal`)).toBe(true);
    expect(plain((await readAll()).keys)).toEqual(plain(history.live));
    db.close();
  });

  test("whose index of the write-ahead log cannot be created has the keys of that log", async () => {
    const history = busyHistory();
    const db = writeKineFile(path, history.changes);
    const copy = join(directory, "copy.db");
    copyFileSync(path, copy);
    copyFileSync(`${path}-wal`, `${copy}-wal`);
    db.close();
    mkdirSync(`${copy}-shm`);
    path = copy;
    expect(plain((await readAll()).keys)).toEqual(plain(history.live));
  });

  test("shows the state of the moment at which it was opened", async () => {
    const db = writeKineFile(path, busyHistory().changes);
    const file = openKineFile(path);
    const before = await file.walk({ ...QUIETLY, prefix: "" }, () => {});
    db.exec("DELETE FROM kine");
    expect(await file.walk({ ...QUIETLY, prefix: "" }, () => {})).toEqual(before);
    file.close();
    db.close();
  });

  test("is read with a prefix: only the keys that begin with it are visited", async () => {
    writeKineFile(path, busyHistory().changes).close();
    expect([...(await readAll("/registry/secrets/")).keys.keys()]).toEqual(["/registry/secrets/shop/one"]);
  });

  test("without rows of the cluster has no keys", async () => {
    writeKineFile(path, []).close();
    expect(await readAll()).toEqual({ revision: 1, keys: new Map(), bytes: 0 });
  });

  test("that is walked with an aborted signal rejects with its reason", async () => {
    writeKineFile(path, busyHistory().changes).close();
    const file = openKineFile(path);
    const reason = new Error("interrupted");
    const walk = file.walk({ prefix: "", signal: AbortSignal.abort(reason), onProgress: () => {} }, () => {});
    await expect(walk).rejects.toBe(reason);
    file.close();
  });
});

describe("a bad database is rejected with a sentence", () => {
  test("a database of another program", async () => {
    new DatabaseSync(path).exec("CREATE TABLE other (id INTEGER)");
    await expect(readAll()).rejects.toThrow("is a SQLite database, but not one of kine");
  });

  test.each([
    ["a view", "CREATE VIEW kine AS SELECT 1 id, 'a' name, 1 created, 0 deleted, 0 create_revision, x'00' value"],
    [
      "a computed column",
      "CREATE TABLE kine (id INTEGER PRIMARY KEY, name TEXT, created, deleted, create_revision, value AS (zeroblob(99)))",
    ],
    [
      "no row ID",
      "CREATE TABLE kine (id INT PRIMARY KEY, name, created, deleted, create_revision, value) WITHOUT ROWID",
    ],
  ])("a table with %s", async (_name, schema) => {
    const db = new DatabaseSync(path);
    db.exec(schema);
    db.close();
    await expect(readAll()).rejects.toThrow("is a SQLite database, but not one of kine");
  });

  test.each([
    ["no name", "UPDATE kine SET name = NULL WHERE id = 5", "row 5 has no valid name"],
    [
      "a name that is not UTF-8",
      "UPDATE kine SET name = CAST(x'2fff' AS TEXT) WHERE id = 5",
      "row 5 has no valid name",
    ],
    ["a text as value", "UPDATE kine SET value = 'text', deleted = 0", "is not binary"],
    ["an ID that is not positive", "UPDATE kine SET id = -5 WHERE id = 5", "a row has no positive ID"],
    ["an ID beyond 2^53", "UPDATE kine SET id = 9007199254740993 WHERE id = 5", "a number is beyond 2^53"],
  ])("a row with %s", async (_name, change, problem) => {
    const db = writeKineFile(path, busyHistory().changes);
    db.exec(change);
    db.close();
    await expect(readAll()).rejects.toThrow(problem);
  });

  test("a damaged database", async () => {
    writeKineFile(path, busyHistory().changes).close();
    const bytes = readFileSync(path);
    bytes.fill(0xff, 4096 + 2000);
    writeFileSync(path, bytes);
    await expect(readAll()).rejects.toThrow("is damaged: ");
  });

  test("any damage is rejected, or read within bounds", { timeout: 120_000 }, async () => {
    const history = busyHistory();
    writeKineFile(path, history.changes).close();
    const content = readFileSync(path);
    const position = fc.integer({ min: 0, max: content.length - 1 });
    const writes = fc.array(fc.tuple(position, fc.integer({ min: 0, max: 255 })), { minLength: 1, maxLength: 20 });
    await fc.assert(
      fc.asyncProperty(writes, fc.option(position), async (changes, keep) => {
        const bytes = Buffer.from(content.subarray(0, keep ?? content.length));
        for (const [at, value] of changes) if (at < bytes.length) bytes[at] = value;
        writeFileSync(path, bytes);
        const read = await readAll().catch((thrown: unknown) => thrown);
        if (read instanceof Error) expect(read).toBeInstanceOf(DatabaseFileError);
      }),
      { numRuns: CASES },
    );
  });

  test("a write-ahead log that cannot be opened", async () => {
    writeKineFile(path, busyHistory().changes).close();
    mkdirSync(`${path}-wal`);
    await expect(readAll()).rejects.toThrow("cannot be opened read-only together with the journal beside it");
  });
});
