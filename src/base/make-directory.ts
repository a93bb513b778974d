/**
 * Makes a directory and its parents, for this user only. The `recursive` option of Node.js never returns for a path
 * such as /proc/foo: it takes every ENOENT for a missing parent, makes the parent and tries again.
 */
import { existsSync, mkdirSync, statSync } from "node:fs";
import { dirname } from "node:path";

const PRIVATE = 0o700;

/** Throws the system's error when the directory cannot be made; leaves an existing directory as it is. */
export function makeDirectory(path: string): void {
  const parent = dirname(path);
  if (parent !== path && !existsSync(parent)) makeDirectory(parent);
  try {
    mkdirSync(path, PRIVATE);
  } catch (thrown) {
    if (statSync(path, { throwIfNoEntry: false })?.isDirectory() !== true) throw thrown;
  }
}
