import { spawnSync } from "node:child_process";
import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { StorageError } from "../kv.ts";
import { lockDirectory } from "./directory-lock.ts";

let directory: string;

beforeEach(() => {
  directory = mkdtempSync(join(tmpdir(), "evenkeel-lock-"));
});
afterEach(() => rmSync(directory, { recursive: true, force: true }));

const holderFile = (): string => join(directory, "evenkeel.holder");

function refusalOf(attempt: () => unknown): string {
  try {
    attempt();
  } catch (thrown) {
    expect(thrown).toBeInstanceOf(StorageError);
    return (thrown as StorageError).message;
  }
  throw new Error("the lock was taken");
}

const rejected = (holder: string): string =>
  `The directory ${directory} is in use by ${holder}: stop that server or choose another directory.`;

describe("a locked directory", () => {
  test("cannot be locked again until its holder releases it, and the error names the holder", () => {
    const lock = lockDirectory(directory, "evenkeel up");
    const rejection = refusalOf(() => lockDirectory(directory, "evenkeel serve"));
    expect(rejection).toBe(rejected(`evenkeel up, process ${process.pid}`));
    lock.release();
    lockDirectory(directory, "evenkeel serve").release();
  });

  test("is not modified by a process that cannot lock it", () => {
    const lock = lockDirectory(directory, "evenkeel up");
    const files = (): unknown[] =>
      readdirSync(directory).map((name) => {
        const { mtimeMs, ino, size } = statSync(join(directory, name));
        return { name, mtimeMs, ino, size };
      });
    const before = files();
    refusalOf(() => lockDirectory(directory, "evenkeel serve"));
    expect(files()).toEqual(before);
    lock.release();
  });

  test("is reported without the holder's name if the holder file is missing, malformed, or left by an ended process", () => {
    const lock = lockDirectory(directory);
    const { pid: ended } = spawnSync("true");
    for (const text of ["", "[]", "null", "{}", '{"name":"x","pid":"y"}', JSON.stringify({ name: "x", pid: ended })]) {
      writeFileSync(holderFile(), text);
      expect(refusalOf(() => lockDirectory(directory))).toBe(rejected("another server"));
    }
    rmSync(holderFile());
    expect(refusalOf(() => lockDirectory(directory))).toBe(rejected("another server"));
    lock.release();
  });
});

test("the holder file is readable by this user only, and is removed with the lock", () => {
  const lock = lockDirectory(directory, "evenkeel serve");
  expect(statSync(holderFile()).mode & 0o777).toBe(0o600);
  expect(JSON.parse(readFileSync(holderFile(), "utf8"))).toEqual({ name: "evenkeel serve", pid: process.pid });
  lock.release();
  expect(existsSync(holderFile())).toBe(false);
});

test("locking a directory that cannot be created fails with an error that names the cause", () => {
  const file = join(directory, "file");
  writeFileSync(file, "");
  expect(refusalOf(() => lockDirectory(join(file, "below")))).toMatch(/^The directory \S+ cannot be used: ENOTDIR: /);
});
