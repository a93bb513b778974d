/**
 * Locks a data directory, so that only one process uses it at a time. Without the lock, two servers would write to one
 * database, and each would replace files that the other is serving.
 */
import { accessSync, constants, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { makeDirectory } from "../../base/make-directory.ts";
import { StorageError } from "../kv.ts";
import { isBusy } from "./sqlite-errors.ts";

export interface DirectoryLock {
  release(): void;
}

/**
 * This file names the holder to a process that finds the directory locked. The lock itself does not depend on the file.
 */
const HOLDER_FILE = "evenkeel.holder";
const UNKNOWN_HOLDER = "another server";

/**
 * Takes the lock. If another process holds it, throws a StorageError that names the holder, and leaves the directory
 * unchanged. The operating system releases the lock when the process ends, even if it is killed.
 */
export function lockDirectory(directory: string, holder: string = UNKNOWN_HOLDER): DirectoryLock {
  const lock = takeLock(directory);
  writeHolder(directory, holder);
  return {
    release() {
      try {
        rmSync(join(directory, HOLDER_FILE), { force: true });
      } finally {
        lock.close();
      }
    },
  };
}

function takeLock(directory: string): DatabaseSync {
  let lock: DatabaseSync | undefined;
  try {
    // Objects include Secrets, so only this user may read the directory.
    makeDirectory(directory);
    accessSync(directory, constants.W_OK | constants.X_OK);
    // The lock is on a separate file, so that the sqlite3 shell can still read the database.
    lock = new DatabaseSync(join(directory, "evenkeel.lock"), { timeout: 0 });
    lock.exec("PRAGMA journal_mode = MEMORY; BEGIN EXCLUSIVE");
    return lock;
  } catch (thrown) {
    lock?.close();
    throw new StorageError("unavailable", refusal(directory, thrown), { cause: thrown });
  }
}

function refusal(directory: string, thrown: unknown): string {
  if (isBusy(thrown))
    return `The directory ${directory} is in use by ${readHolder(directory)}: stop that server or choose another directory.`;
  return `The directory ${directory} cannot be used: ${thrown instanceof Error ? thrown.message : String(thrown)}.`;
}

function writeHolder(directory: string, name: string): void {
  try {
    writeFileSync(join(directory, HOLDER_FILE), `${JSON.stringify({ name, pid: process.pid })}\n`, { mode: 0o600 });
  } catch {
    // A full disk must not keep a server from serving reads. Without the file, another process cannot report the
    // holder's name.
  }
}

/**
 * Returns the name of the holder. Ignores a holder file whose process is not running, because that process was killed.
 */
function readHolder(directory: string): string {
  try {
    const { name, pid } = JSON.parse(readFileSync(join(directory, HOLDER_FILE), "utf8")) as Record<string, unknown>;
    if (typeof name !== "string" || typeof pid !== "number" || !isRunning(pid)) return UNKNOWN_HOLDER;
    return `${name}, process ${pid}`;
  } catch {
    // Earlier versions of Evenkeel hold the lock without writing this file.
    return UNKNOWN_HOLDER;
  }
}

function isRunning(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch (thrown) {
    // EPERM: the process runs as another user.
    return thrown instanceof Error && "code" in thrown && thrown.code === "EPERM";
  }
}
