import {
  closeSync,
  ftruncateSync,
  mkdtempSync,
  openSync,
  readFileSync,
  rmSync,
  writeFileSync,
  writeSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { gzipSync } from "node:zlib";
import { execFileSync } from "node:child_process";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { BoltWriter, USUAL_LAYOUT } from "../../../test/testing/storage/etcd-file/bolt-writer.ts";
import { writeEtcdFile, type StoredChange } from "../../../test/testing/storage/etcd-file/etcd-writer.ts";
import { KeyHistory, type LiveKey } from "../../../test/testing/storage/etcd-file/key-history.ts";
import { QUIETLY, readAll } from "../../../test/testing/storage/etcd-file/read-all.ts";
import { openEtcdFile } from "./etcd-file.ts";

let directory: string;
let path: string;

beforeAll(() => {
  directory = mkdtempSync(join(tmpdir(), "evenkeel-etcd-file-"));
  path = join(directory, "snapshot.db");
});
afterAll(() => rmSync(directory, { recursive: true, force: true }));

/** Keys that were changed, deleted and created again, in several sizes. */
function busyHistory(keys: number): KeyHistory {
  const history = new KeyHistory();
  for (let index = 0; index < keys; index++) history.put(`/registry/pods/shop/pod-${index}`, "x".repeat(index % 700));
  for (let index = 0; index < keys; index += 2) history.put(`/registry/pods/shop/pod-${index}`, `changed ${index}`);
  for (let index = 0; index < keys; index += 3) history.delete(`/registry/pods/shop/pod-${index}`);
  for (let index = 0; index < keys; index += 9) history.put(`/registry/pods/shop/pod-${index}`, `again ${index}`);
  history.putAll([
    ["/registry/secrets/shop/one", "1"],
    ["/registry/secrets/shop/two", "2"],
  ]);
  return history;
}

function plain(keys: ReadonlyMap<string, LiveKey>): Record<string, unknown> {
  return Object.fromEntries(
    [...keys]
      .map(
        ([key, { value, createRevision, modRevision }]) =>
          [key, [value.toString("latin1"), createRevision, modRevision]] as const,
      )
      .toSorted(([left], [right]) => (left < right ? -1 : 1)),
  );
}

function overwrite(position: number, bytes: Buffer): void {
  const descriptor = openSync(path, "r+");
  writeSync(descriptor, bytes, 0, bytes.length, position);
  closeSync(descriptor);
}

describe("a file of etcd", () => {
  test.each([
    ["of 4 KiB", { pageSize: 4096 }],
    ["of 64 KiB", { pageSize: 65_536 }],
    ["with unused pages between them", { gapPages: 3 }],
    ["far apart in the file", { gapPages: 40 }],
    ["in a tree of many levels", { pageSize: 1024, childrenMax: 2 }],
  ])("with pages %s has the keys that its history left", async (_name, layout) => {
    const history = busyHistory(2_000);
    writeEtcdFile(path, history.changes, { layout });
    const read = await readAll(path);
    expect(plain(read.keys)).toEqual(plain(history.live));
    expect(read.revision).toBe(history.revision);
    expect(read.walked.keys).toBe(history.live.size);
    expect(read.walked.bytes).toBe(
      [...history.live].reduce((sum, [key, { value }]) => sum + key.length + value.length, 0),
    );
  });

  test("with few changes, which are stored inside the page of the buckets, has the keys that its history left", async () => {
    const history = busyHistory(4);
    writeEtcdFile(path, history.changes, { isInline: true });
    expect(plain((await readAll(path)).keys)).toEqual(plain(history.live));
  });

  test("with values of several pages has those values", async () => {
    const history = new KeyHistory();
    for (let index = 0; index < 30; index++) history.put(`/registry/big-${index}`, Buffer.alloc(index * 20_000, index));
    history.put("/registry/largest", Buffer.alloc(3_000_000, 7));
    writeEtcdFile(path, history.changes);
    expect(plain((await readAll(path)).keys)).toEqual(plain(history.live));
  });

  test("without changes has no keys, and the first revision", async () => {
    writeEtcdFile(path, []);
    expect(await readAll(path)).toMatchObject({ revision: 1, walked: { keys: 0, bytes: 0 } });
  });

  test("whose last changes were compacted away has the compacted revision", async () => {
    const history = busyHistory(10);
    writeEtcdFile(path, history.changes, { compactedRevision: 5_000 });
    expect((await readAll(path)).revision).toBe(5_000);
  });

  test("is read with a prefix: only the keys that begin with it are visited", async () => {
    const history = busyHistory(50);
    writeEtcdFile(path, history.changes);
    const { keys, walked } = await readAll(path, "/registry/secrets/");
    expect([...keys.keys()].toSorted()).toEqual(["/registry/secrets/shop/one", "/registry/secrets/shop/two"]);
    expect(walked.keys).toBe(2);
  });

  test("that is gzipped has the same keys, and leaves no temporary file", async () => {
    const history = busyHistory(3_000);
    writeEtcdFile(path, history.changes);
    const gzipped = join(directory, "backup");
    writeFileSync(gzipped, gzipSync(readFileSync(path)));
    expect(plain((await readAll(gzipped)).keys)).toEqual(plain(history.live));
  });

  test("can be walked several times", async () => {
    writeEtcdFile(path, busyHistory(100).changes);
    const file = await openEtcdFile(path, QUIETLY);
    const first = await file.walk({ ...QUIETLY, prefix: "" }, () => {});
    expect(await file.walk({ ...QUIETLY, prefix: "" }, () => {})).toEqual(first);
    file.close();
  });

  test("with an older meta page only is read with the note that a transaction may be missing", async () => {
    writeEtcdFile(path, busyHistory(20).changes, { isHashed: false, transaction: 8 });
    overwrite(16 + 20, Buffer.from([1]));
    expect(await readAll(path)).toMatchObject({ isHashed: false, mayMissTransaction: true });
  });
});

describe("a walk", () => {
  test("ends with the reason of the signal", async () => {
    writeEtcdFile(path, busyHistory(20_000).changes);
    const file = await openEtcdFile(path, QUIETLY);
    const controller = new AbortController();
    const reason = new Error("interrupted");
    const walk = file.walk(
      { prefix: "", signal: controller.signal, onProgress: () => controller.abort(reason) },
      () => {
        // Makes a slice end, whatever the speed of the machine.
        const end = performance.now() + 1;
        while (performance.now() < end);
      },
    );
    await expect(walk).rejects.toBe(reason);
    file.close();
  });

  test("rejects with the error that the visitor throws", async () => {
    writeEtcdFile(path, busyHistory(3).changes);
    const file = await openEtcdFile(path, QUIETLY);
    const error = new Error("visitor");
    const walk = file.walk({ ...QUIETLY, prefix: "" }, () => {
      throw error;
    });
    await expect(walk).rejects.toBe(error);
    file.close();
  });

  test("rejects if etcd has written a transaction since the file was opened", async () => {
    writeEtcdFile(path, busyHistory(300).changes, { isHashed: false, transaction: 8 });
    const file = await openEtcdFile(path, QUIETLY);
    const other = join(directory, "other.db");
    writeEtcdFile(other, busyHistory(300).changes, { isHashed: false, transaction: 9 });
    overwrite(0, readFileSync(other).subarray(0, 2 * 4096));
    await expect(file.walk({ ...QUIETLY, prefix: "" }, () => {})).rejects.toThrow("changed while it was read");
    file.close();
  });
});

describe("a bad file is rejected with a sentence", () => {
  const change = (revision: number, more: Partial<StoredChange> = {}): StoredChange => ({
    key: `/registry/${revision}`,
    value: Buffer.from("v"),
    revision,
    subRevision: 0,
    createRevision: revision,
    version: 1,
    ...more,
  });

  test.each([
    ["changes are out of order", [change(3), change(2)], "not in the order of their revisions"],
    ["a revision occurs twice", [change(3), change(3)], "not in the order of their revisions"],
    ["a record has another creation", [change(3, { createRevision: 4 })], "contradicts its revision"],
    ["a record has no version", [change(3, { version: 0 })], "contradicts its revision"],
  ])("%s", async (_name, changes, problem) => {
    writeEtcdFile(path, changes);
    await expect(readAll(path)).rejects.toThrow(problem);
  });

  test("a flipped bit in a snapshot", async () => {
    writeEtcdFile(path, busyHistory(300).changes);
    overwrite(20_000, Buffer.from([0xff]));
    await expect(readAll(path)).rejects.toThrow("does not match the SHA-256");
  });

  test("a tree that contains itself", async () => {
    writeEtcdFile(path, busyHistory(300).changes, { isHashed: false, layout: { childrenMax: 2 } });
    const bytes = readFileSync(path);
    for (let at = 2 * 4096; at < bytes.length; at += 4096) {
      // Each child of each branch becomes the branch itself.
      if (bytes.readUInt16LE(at + 8) !== 1) continue;
      for (let entry = 0; entry < bytes.readUInt16LE(at + 10); entry++)
        bytes.writeBigUInt64LE(BigInt(at / 4096), at + 16 + entry * 16 + 8);
    }
    writeFileSync(path, bytes);
    await expect(readAll(path)).rejects.toThrow("refers to one page several times");
  });

  test("a tree that refers to one page many times", async () => {
    writeEtcdFile(path, busyHistory(300).changes, { isHashed: false });
    const bytes = readFileSync(path);
    for (let at = 2 * 4096; at < bytes.length; at += 4096) {
      if (bytes.readUInt16LE(at + 8) !== 1) continue;
      const first = bytes.readBigUInt64LE(at + 16 + 8);
      for (let entry = 0; entry < bytes.readUInt16LE(at + 10); entry++)
        bytes.writeBigUInt64LE(first, at + 16 + entry * 16 + 8);
    }
    writeFileSync(path, bytes);
    await expect(readAll(path)).rejects.toThrow("is damaged: ");
  });

  test("a database of another program", async () => {
    const writer = new BoltWriter(path, USUAL_LAYOUT);
    writer.finish(writer.writeTree([]), { transaction: 2, isHashed: false });
    await expect(readAll(path)).rejects.toThrow('not one of etcd: it has no bucket "key"');
  });

  test("a truncated file without a SHA-256", async () => {
    writeEtcdFile(path, busyHistory(300).changes, { isHashed: false });
    const descriptor = openSync(path, "r+");
    ftruncateSync(descriptor, 5 * 4096);
    closeSync(descriptor);
    await expect(readAll(path)).rejects.toThrow("is damaged: it is truncated");
  });

  test.each([
    ["empty", Buffer.alloc(0)],
    ["text", Buffer.from("apiVersion: v1\n")],
    ["zeros", Buffer.alloc(1_000_000)],
    ["gzipped zeros, far more than they look", gzipSync(Buffer.alloc(200_000_000))],
    ["gzipped text", gzipSync("text")],
  ])("a file of another kind: %s", async (_name, content) => {
    writeFileSync(path, content);
    await expect(readAll(path)).rejects.toThrow("is not a database of etcd");
  });

  test("a truncated gzip file", async () => {
    writeEtcdFile(path, busyHistory(3_000).changes);
    const gzipped = gzipSync(readFileSync(path));
    writeFileSync(path, gzipped.subarray(0, gzipped.length / 2));
    await expect(readAll(path)).rejects.toThrow("is a gzip file that is damaged or incomplete");
  });

  test.each(["directory", "named pipe"])("a %s", async (kind) => {
    const pipe = join(directory, "pipe");
    if (kind === "named pipe") execFileSync("mkfifo", [pipe]);
    await expect(readAll(kind === "named pipe" ? pipe : directory)).rejects.toThrow("is not a regular file");
  });
});
