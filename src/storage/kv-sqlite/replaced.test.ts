import { copyFileSync, existsSync, mkdtempSync, readFileSync, renameSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { afterEach, describe, expect, test } from "vitest";
import { create, Recorder } from "../../../test/testing/storage/conformance/kv-fixture.ts";
import { realClock } from "../../../test/testing/real-clock.ts";
import type { Kv } from "../kv.ts";
import { openSqliteKv } from "./kv.ts";

const REPLACED = /was replaced or changed while this server used it/;

const directories: string[] = [];
afterEach(() => {
  for (const directory of directories.splice(0)) rmSync(directory, { recursive: true, force: true });
});

interface Store {
  readonly kv: Kv;
  readonly directory: string;
  readonly path: (name: string) => string;
}

function open(directory: string): Promise<Kv> {
  return openSqliteKv({ directory, clock: realClock() });
}

/** A store with the keys /a and /b, and a backup that contains only /a. */
async function openWithBackup(): Promise<Store> {
  const directory = mkdtempSync(join(tmpdir(), "evenkeel-replaced-"));
  directories.push(directory);
  const path = (name: string): string => join(directory, name);
  const before = await open(directory);
  await create(before, "/a");
  await before.close();
  copyFileSync(path("evenkeel.db"), path("backup.db"));
  const kv = await open(directory);
  await create(kv, "/b");
  return { kv, directory, path };
}

async function keysOf(kv: Kv): Promise<string[]> {
  return (await kv.range({ start: "/", end: "0" })).items.map(({ key }) => key);
}

const WAYS: readonly (readonly [what: string, replace: (store: Store) => void])[] = [
  ["overwritten by a backup", ({ path }) => copyFileSync(path("backup.db"), path("evenkeel.db"))],
  [
    "replaced by another file",
    ({ path }) => {
      copyFileSync(path("backup.db"), path("new.db"));
      renameSync(path("new.db"), path("evenkeel.db"));
    },
  ],
  ["removed", ({ path }) => rmSync(path("evenkeel.db"))],
  [
    "overwritten, and its write-ahead log removed",
    ({ path }) => {
      rmSync(path("evenkeel.db-wal"));
      copyFileSync(path("backup.db"), path("evenkeel.db"));
    },
  ],
];

describe("a database that is replaced under a running server", () => {
  test.each(WAYS)("(%s) rejects all calls with the reason, and ends watches", async (_, replace) => {
    const store = await openWithBackup();
    const recorder = Recorder.start(store.kv, { prefix: "/", fromRevision: 1 });
    replace(store);
    await expect(create(store.kv, "/c")).rejects.toThrow(REPLACED);
    await expect(keysOf(store.kv)).rejects.toThrow(REPLACED);
    expect(recorder.closings.map(({ message }) => message)).toEqual([expect.stringMatching(REPLACED)]);
    await store.kv.close();
  });

  test("is noticed without a request", async () => {
    const store = await openWithBackup();
    const closed = Promise.withResolvers<string>();
    const noop = (): void => {};
    const sink = {
      events: noop,
      progress: noop,
      interrupted: noop,
      closed: (error: Error) => closed.resolve(error.message),
    };
    store.kv.watch({ prefix: "/", fromRevision: 1 }, sink);
    copyFileSync(store.path("backup.db"), store.path("evenkeel.db"));
    expect(await closed.promise).toMatch(REPLACED);
    await store.kv.close();
  });

  test("is not changed when the server stops, and opens after the operator has removed the saved log", async () => {
    const { kv, directory, path } = await openWithBackup();
    copyFileSync(path("backup.db"), path("evenkeel.db"));
    await expect(create(kv, "/c")).rejects.toThrow(/evenkeel\.db-wal\.replaced/);
    await kv.close();
    expect(readFileSync(path("evenkeel.db")).equals(readFileSync(path("backup.db")))).toBe(true);
    await expect(open(directory)).rejects.toThrow(/If you have restored a backup, remove this file/);
    rmSync(path("evenkeel.db-wal.replaced"));
    const after = await open(directory);
    expect(await keysOf(after)).toEqual(["/a"]);
    await after.close();
  });

  test("loses nothing if it was only checkpointed by another process, and the operator puts the saved log back", async () => {
    const { kv, directory, path } = await openWithBackup();
    const shell = new DatabaseSync(path("evenkeel.db"));
    shell.exec("PRAGMA wal_checkpoint(PASSIVE)");
    await expect(create(kv, "/c")).rejects.toThrow(REPLACED);
    shell.close();
    await kv.close();
    if (existsSync(path("evenkeel.db-wal.replaced")))
      renameSync(path("evenkeel.db-wal.replaced"), path("evenkeel.db-wal"));
    const after = await open(directory);
    expect(await keysOf(after)).toEqual(["/a", "/b"]);
    await after.close();
  });
});

test("a database that is restored while no server uses it is served", async () => {
  const { kv, directory, path } = await openWithBackup();
  await kv.close();
  copyFileSync(path("backup.db"), path("evenkeel.db"));
  const after = await open(directory);
  expect(await keysOf(after)).toEqual(["/a"]);
  await after.close();
});

test("a database that the sqlite3 shell reads and copies while a server uses it stays usable", async () => {
  const { kv, path } = await openWithBackup();
  const shell = new DatabaseSync(path("evenkeel.db"));
  shell.exec(`VACUUM INTO '${path("copy.db")}'`);
  expect(shell.prepare("SELECT count(*) AS count FROM objects").get()).toEqual({ count: 2 });
  shell.close();
  await create(kv, "/c");
  expect(await keysOf(kv)).toEqual(["/a", "/b", "/c"]);
  await kv.close();
});
