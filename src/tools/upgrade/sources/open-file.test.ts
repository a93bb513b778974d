import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { writeEtcdFile } from "../../../../test/testing/storage/etcd-file/etcd-writer.ts";
import { KeyHistory } from "../../../../test/testing/storage/etcd-file/key-history.ts";
import { QUIETLY } from "../../../../test/testing/storage/etcd-file/read-all.ts";
import { writeKineFile } from "../../../../test/testing/storage/kine-file/kine-writer.ts";
import { StoredDataError, type StoredData } from "../stored-data.ts";
import { openStoredDataFile } from "./open-file.ts";

let directory: string;
let path: string;

beforeEach(() => {
  directory = mkdtempSync(join(tmpdir(), "evenkeel-open-file-"));
  path = join(directory, "backup");
});
afterEach(() => rmSync(directory, { recursive: true, force: true }));

function twoKeys(): KeyHistory {
  const history = new KeyHistory();
  history.put("/registry/pods/shop/web", "pod");
  history.put("/registry/services/specs/shop/web", "service");
  return history;
}

async function keysOf(data: StoredData): Promise<string[]> {
  const keys: string[] = [];
  await data.walk({ ...QUIETLY, prefix: "/registry/" }, ({ key }) => keys.push(key));
  await data.close();
  return keys.toSorted();
}

describe("a file of any name is recognized by its content", () => {
  test("a snapshot of etcd has no warnings", async () => {
    writeEtcdFile(path, twoKeys().changes);
    const data = await openStoredDataFile(path, QUIETLY);
    expect(data).toMatchObject({ source: `etcd snapshot ${path}`, revision: 3, warnings: [] });
    expect(await keysOf(data)).toEqual(["/registry/pods/shop/web", "/registry/services/specs/shop/web"]);
  });

  test("the database of a member of etcd has a warning about its write-ahead log", async () => {
    writeEtcdFile(path, twoKeys().changes, { isHashed: false });
    const data = await openStoredDataFile(path, QUIETLY);
    expect(data.source).toBe(`etcd database ${path}`);
    expect(data.warnings).toEqual([expect.stringContaining("its newest writes may be only in the write-ahead log")]);
    await data.close();
  });

  test("the database of k3s with its write-ahead log has no warnings", async () => {
    const db = writeKineFile(path, twoKeys().changes);
    const data = await openStoredDataFile(path, QUIETLY);
    expect(data).toMatchObject({ source: `k3s database ${path}`, revision: 3, warnings: [] });
    expect(await keysOf(data)).toEqual(["/registry/pods/shop/web", "/registry/services/specs/shop/web"]);
    db.close();
  });

  test("the database of k3s alone has a warning about its write-ahead log", async () => {
    writeKineFile(path, twoKeys().changes).close();
    const data = await openStoredDataFile(path, QUIETLY);
    expect(data.warnings).toEqual([expect.stringContaining("if the file was copied while k3s was running")]);
    await data.close();
  });
});

describe("a problem is one sentence that names the file", () => {
  test.each([
    ["a file that does not exist", undefined, "no such file"],
    ["a file of another kind", Buffer.from("text"), "is not a database of etcd"],
  ])("%s", async (_name, content, problem) => {
    if (content !== undefined) writeFileSync(path, content);
    const error: unknown = await openStoredDataFile(path, QUIETLY).catch((thrown: unknown) => thrown);
    expect(error).toBeInstanceOf(StoredDataError);
    expect(String(error)).toContain(path);
    expect(String(error)).toContain(problem);
  });
});
