import { chmodSync, mkdtempSync, rmSync, statSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
import { makeDirectory } from "./make-directory.ts";

let root: string;

beforeEach(() => {
  root = mkdtempSync(join(tmpdir(), "evenkeel-make-directory-"));
});
afterEach(() => rmSync(root, { recursive: true, force: true }));

const modeOf = (path: string): string => (statSync(path).mode & 0o777).toString(8);

test("makeDirectory creates a directory with its parents, with access for this user only", () => {
  makeDirectory(join(root, "a/b/c"));
  expect(["a", "a/b", "a/b/c"].map((path) => modeOf(join(root, path)))).toEqual(["700", "700", "700"]);
});

test("an existing directory keeps its mode", () => {
  const path = join(root, "open");
  makeDirectory(path);
  chmodSync(path, 0o755);
  makeDirectory(path);
  expect(modeOf(path)).toBe("755");
});

test("a file in place of the directory or of a parent is an error", () => {
  const file = join(root, "file");
  writeFileSync(file, "");
  expect(() => makeDirectory(file)).toThrow("EEXIST");
  expect(() => makeDirectory(join(file, "below"))).toThrow("ENOTDIR");
  expect(() => makeDirectory(join(file, "far/below"))).toThrow("ENOTDIR");
});

test.runIf(process.platform === "linux")(
  "a path in which no process can create directories is an error, not an endless loop",
  () => {
    expect(() => makeDirectory("/proc/foo")).toThrow("ENOENT");
    expect(() => makeDirectory("/proc/foo/bar")).toThrow("ENOENT");
  },
);
