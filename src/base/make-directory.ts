/**
 * Creates a directory and its parents, with access for this user only. The `recursive` option of Node.js never returns
 * for a path such as /proc/foo, because it treats every ENOENT as a missing parent, creates the parent and tries again.
 */
import { existsSync, mkdirSync, statSync } from "node:fs";
import { dirname } from "node:path";

const PRIVATE = 0o700;

/** Throws the error of the system if the directory cannot be created. Keeps an existing directory unchanged. */
export function makeDirectory(path: string): void {
  const parent = dirname(path);
  if (parent !== path && !existsSync(parent)) makeDirectory(parent);
  try {
    mkdirSync(path, PRIVATE);
  } catch (thrown) {
    if (statSync(path, { throwIfNoEntry: false })?.isDirectory() !== true) throw thrown;
  }
}
