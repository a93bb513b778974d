#!/usr/bin/env node
/**
 * The built command: checks the version of Node.js, then runs the program. Older versions lack modules and exports that
 * the program needs, and static imports are resolved before any statement runs, so this file statically imports only
 * names that each version has. From source, run main.ts.
 *
 * The program is a script with a compile cache, which contains the functions that a server calls until it is ready.
 * Without it, their compilation would be a fifth of the CPU time of a start. The cache is beside the code: a user who
 * can write there could change the code as well. V8 ignores a cache of other source text or of another version.
 */
import { chmodSync, readFileSync, renameSync, writeFileSync } from "node:fs";
import { createRequire } from "node:module";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { setFlagsFromString } from "node:v8";
import { Script } from "node:vm";

/** The same minimum as "engines" in package.json. */
const NODE_MAJOR_MIN = 24;
const HEAP_FLAGS: readonly string[] = ["--max-semi-space-size=16"];
/**
 * Makes all threads allocate from one arena of glibc. By default each thread has its own, and keeps what it has freed
 * for itself: after thousands of writes, the arenas of V8's threads held 10 MB. Other C libraries ignore the variable.
 */
const ARENAS = { MALLOC_ARENA_MAX: "1" } as const;
/**
 * Without this flag, V8 may decide from the first requests that some object of every request lives long, and allocate it
 * in the old generation from then on. Each such object keeps the rest of its request alive until the next major
 * collection. It is set for every command, because V8 accepts a compile cache only under the flags that it was made with.
 */
const NO_PRETENURING = "--no-allocation-site-pretenuring";
/** The command that runs for long; the compile cache contains its functions. */
const SERVE = "serve";

const { node: version } = process.versions;
if (Number(version.split(".")[0]) < NODE_MAJOR_MIN) {
  process.stderr.write(`evenkeel needs Node.js ${NODE_MAJOR_MIN} or newer; this is ${version}\n`);
  process.exitCode = 1;
} else {
  if (process.argv[2] === SERVE) setHeapFlags();
  setFlagsFromString(NO_PRETENURING);
  runProgram();
}

/**
 * V8 reads the size of its young generation only when a process starts, and the C library its variable, so this replaces
 * the process by one with both; the process ID stays. By default V8 lets the young generation grow to 64 MB, twice, under load. It is not done
 * where the platform cannot replace a process, under flags of the operator, or with an IPC channel, which would be lost.
 */
function setHeapFlags(): void {
  const { execArgv, env } = process;
  const isSet = [...execArgv, env["NODE_OPTIONS"] ?? ""].some((flag) => flag.includes("semi-space-size"));
  if (isSet || process.platform === "win32" || process.send !== undefined) return;
  const command = [process.execPath, ...HEAP_FLAGS, ...execArgv, ...process.argv.slice(1)];
  process.execve?.(process.execPath, command, { ...ARENAS, ...env });
}

function runProgram(): void {
  const directory = fileURLToPath(new URL(".", import.meta.url));
  const filename = join(directory, "evenkeel.cjs");
  const cacheFile = join(directory, `evenkeel-${process.version}-${process.arch}.cache`);
  const script = compile(filename, readIfPresent(cacheFile));
  // Undefined if there is no cache for this version of Node.js: the package contains only that of one version.
  if (script.cachedDataRejected === undefined && process.argv[2] === SERVE)
    process.once("exit", () => writeIfPossible(cacheFile, script.createCachedData()));
  const run = script.runInThisContext() as (require: NodeJS.Require, moduleUrl: string) => void;
  run(createRequire(import.meta.url), import.meta.url);
}

function compile(filename: string, cachedData: Buffer | undefined): Script {
  // The build rejects non-ASCII characters, and V8 keeps Latin-1 text outside its heap without copying it.
  return new Script(readFileSync(filename, "latin1"), { filename, ...(cachedData !== undefined && { cachedData }) });
}

function readIfPresent(file: string): Buffer | undefined {
  try {
    return readFileSync(file);
  } catch {
    return undefined;
  }
}

/** Several processes may write the file at the same time. If the directory is not writable, nothing is cached. */
function writeIfPossible(file: string, data: Buffer): void {
  const fresh = `${file}.${process.pid}`;
  try {
    writeFileSync(fresh, data);
    // Readable for the users who can read the code, although a server's umask hides its other files from them.
    chmodSync(fresh, 0o644);
    renameSync(fresh, file);
  } catch {
    // The next start compiles the program again.
  }
}
