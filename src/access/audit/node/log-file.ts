/**
 * A log file that is rotated before it exceeds its maximum size, as in lumberjack. If a write fails, only the lines of
 * this write are dropped; the next write opens the file again.
 */
import { must } from "../../../base/assert.ts";
import { chown, open, readdir, rename, stat, unlink, type FileHandle } from "node:fs/promises";
import { constants, createReadStream, createWriteStream, type Stats } from "node:fs";
import { basename, dirname, join } from "node:path";
import { pipeline } from "node:stream/promises";
import { createGzip } from "node:zlib";
import type { Clock } from "../../../base/clock.ts";
import type { Log } from "../../../base/log.ts";
import { makeDirectory } from "../../../base/make-directory.ts";
import type { AuditOutput, LostLine } from "../backend.ts";
import { backupName, backupTasksOf, COMPRESSED, logNameOf, type LogName } from "../backup-files.ts";
import type { LogFileOptions } from "../options.ts";

export interface LogFileEnv {
  readonly clock: Clock;
  readonly log: Log;
}

/**
 * Only the server's user may read the file, because audit logs may contain secrets. An existing file keeps its mode.
 */
const FILE_MODE = 0o600;
const APPEND = constants.O_APPEND | constants.O_WRONLY;

/** Creates missing directories and the file; rejects if the file cannot be written. */
export async function openLogFile(options: LogFileOptions, env: LogFileEnv): Promise<AuditOutput> {
  makeDirectory(dirname(options.path));
  const handle = await open(options.path, constants.O_CREAT | constants.O_APPEND | constants.O_RDWR, FILE_MODE);
  await handle.close();
  return new LogFile(options, env);
}

class LogFile implements AuditOutput {
  readonly #options: LogFileOptions;
  readonly #env: LogFileEnv;
  readonly #directory: string;
  readonly #name: LogName;
  #handle: FileHandle | undefined;
  #size = 0;
  #chores: Promise<void> | undefined;
  #hasMoreChores = false;

  constructor(options: LogFileOptions, env: LogFileEnv) {
    this.#options = options;
    this.#env = env;
    this.#directory = dirname(options.path);
    this.#name = logNameOf(basename(options.path));
  }

  get #bytesMax(): number {
    return this.#options.bytesMax === 0 ? Infinity : this.#options.bytesMax;
  }

  async write(lines: readonly Buffer[]): Promise<readonly LostLine[]> {
    const lost: LostLine[] = [];
    let start = 0;
    while (start < lines.length) {
      const end = await this.#writeSome(lines, start).catch((thrown: unknown) => {
        const error = thrown instanceof Error ? thrown : new Error(String(thrown));
        // A line that is too long does not affect the other lines. Other errors, such as a full disk, affect all
        // remaining lines.
        const failed = error instanceof TooLongError ? start + 1 : lines.length;
        for (let index = start; index < failed; index++) lost.push({ index, error });
        return failed;
      });
      start = end;
    }
    return lost;
  }

  async close(): Promise<void> {
    const handle = this.#handle;
    this.#handle = undefined;
    await handle?.close().catch(() => undefined);
    await this.#chores;
  }

  /** Writes as many lines as fit into the current file. Returns the index of the first line that was not written. */
  async #writeSome(lines: readonly Buffer[], start: number): Promise<number> {
    const first = must(lines[start], "there is a line to write");
    if (first.length > this.#bytesMax)
      throw new TooLongError(`write length ${first.length} exceeds maximum file size ${this.#bytesMax}`);
    if (this.#handle === undefined) await this.#openExisting(first.length);
    if (this.#size + first.length > this.#bytesMax) await this.#rotate();
    const taken: Buffer[] = [];
    let bytes = 0;
    for (const line of lines.slice(start)) {
      bytes += line.length;
      if (this.#size + bytes > this.#bytesMax) break;
      taken.push(line);
    }
    await this.#append(Buffer.concat(taken));
    return start + taken.length;
  }

  async #append(bytes: Buffer): Promise<void> {
    const handle = must(this.#handle, "the file is open");
    try {
      let written = 0;
      while (written < bytes.length) written += (await handle.write(bytes, written)).bytesWritten;
      this.#size += bytes.length;
    } catch (thrown) {
      // Removes a partial line, which would corrupt the next line.
      await handle.truncate(this.#size).catch(() => undefined);
      this.#handle = undefined;
      await handle.close().catch(() => undefined);
      throw thrown;
    }
  }

  async #openExisting(bytes: number): Promise<void> {
    this.#startChores();
    const { path } = this.#options;
    const found = await statOf(path);
    if (found === undefined) return this.#openNew();
    if (found.size + bytes >= this.#bytesMax) return this.#rotate();
    this.#handle = await open(path, APPEND);
    this.#size = found.size;
  }

  async #rotate(): Promise<void> {
    const handle = this.#handle;
    this.#handle = undefined;
    await handle?.close();
    await this.#openNew();
    this.#startChores();
  }

  async #openNew(): Promise<void> {
    const { path } = this.#options;
    makeDirectory(this.#directory);
    const found = await statOf(path);
    if (found !== undefined) await rename(path, await this.#freeName());
    const mode = found === undefined ? FILE_MODE : found.mode & 0o777;
    this.#handle = await open(path, constants.O_CREAT | constants.O_TRUNC | APPEND, mode);
    this.#size = 0;
    if (found !== undefined) await chown(path, found.uid, found.gid).catch(() => undefined);
  }

  /**
   * A name for the rotated file that does not exist yet. DIFFERS: lumberjack overwrites a file that was rotated in the
   * same millisecond.
   */
  async #freeName(): Promise<string> {
    for (let epochMs = this.#env.clock.now(); ; epochMs++) {
      const name = join(this.#directory, backupName(this.#name, epochMs));
      if ((await statOf(name)) === undefined && (await statOf(name + COMPRESSED)) === undefined) return name;
    }
  }

  /** Removes and compresses rotated files. Runs once at a time, concurrently with writes. */
  #startChores(): void {
    const { backupsMax, ageDaysMax, compress, bytesMax } = this.#options;
    if (bytesMax === 0 || (backupsMax === 0 && ageDaysMax === 0 && !compress)) return;
    this.#hasMoreChores = true;
    this.#chores ??= this.#doChores().finally(() => {
      this.#chores = undefined;
    });
  }

  async #doChores(): Promise<void> {
    while (this.#hasMoreChores) {
      this.#hasMoreChores = false;
      try {
        await this.#tidy();
      } catch (thrown) {
        this.#env.log.warn("failed to remove or compress rotated audit logs", { error: thrown });
      }
    }
  }

  async #tidy(): Promise<void> {
    const entries = await readdir(this.#directory, { withFileTypes: true });
    const files = entries.filter((entry) => !entry.isDirectory()).map(({ name }) => name);
    const { remove, compress } = backupTasksOf(files, this.#name, { ...this.#options, nowMs: this.#env.clock.now() });
    const failures: unknown[] = [];
    const attempt = (work: Promise<void>): Promise<void> => work.catch((thrown: unknown) => void failures.push(thrown));
    for (const name of remove) await attempt(unlink(join(this.#directory, name)));
    for (const name of compress) await attempt(compressFile(join(this.#directory, name)));
    if (failures.length > 0) throw failures[0];
  }
}

class TooLongError extends Error {
  override readonly name = "TooLongError";
}

async function compressFile(path: string): Promise<void> {
  const target = path + COMPRESSED;
  const found = await stat(path);
  try {
    await pipeline(createReadStream(path), createGzip(), createWriteStream(target, { mode: found.mode & 0o777 }));
    await chown(target, found.uid, found.gid).catch(() => undefined);
  } catch (thrown) {
    await unlink(target).catch(() => undefined);
    throw thrown;
  }
  await unlink(path);
}

async function statOf(path: string): Promise<Stats | undefined> {
  try {
    return await stat(path);
  } catch (thrown) {
    if ((thrown as NodeJS.ErrnoException).code === "ENOENT") return undefined;
    throw thrown;
  }
}
