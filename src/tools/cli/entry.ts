#!/usr/bin/env node
/**
 * The built command: checks the version of Node.js, then loads the program with a compile cache. Older versions lack
 * modules and exports that the program imports, and static imports are resolved before any statement runs, so this
 * file imports the program dynamically and names no import that an old version lacks. From source, run main.ts.
 */
import * as nodeModule from "node:module";
import { join } from "node:path";

/** The same minimum as "engines" in package.json. */
const NODE_MAJOR_MIN = 24;

const { node: version } = process.versions;
if (Number(version.split(".")[0]) < NODE_MAJOR_MIN) {
  process.stderr.write(`evenkeel needs Node.js ${NODE_MAJOR_MIN} or newer; this is ${version}\n`);
  process.exitCode = 1;
} else {
  // The cache is beside the code: a user who can write there could change the code as well. If the directory is not
  // writable, nothing is cached.
  nodeModule.enableCompileCache(join(import.meta.dirname, "compiled"));
  await import("./main.ts");
}
