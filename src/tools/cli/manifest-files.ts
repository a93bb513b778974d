/**
 * Finds and reads manifest files for `check` and `rehearse`. Everything is bounded, because a user may name a directory
 * that contains much more than manifests.
 */
import { closeSync, existsSync, openSync, readdirSync, readSync, statSync, type Dirent } from "node:fs";
import { basename, dirname, join } from "node:path";
import type { ManifestFile } from "../upgrade/manifests/read-manifests.ts";
import { CommandFailure } from "./failure.ts";

/** A directory with more files is probably the wrong one, and is not read to its end. */
const FILES_MAX = 20_000;
const ENTRIES_MAX = 1_000_000;
const DEPTH_MAX = 64;
const FILE_BYTES_MAX = 64 * 1024 * 1024;
const TOTAL_BYTES_MAX = 256 * 1024 * 1024;
const USAGE = 2;
const MANIFEST_NAME = /\.(ya?ml|json)$/i;
const SKIPPED_FOLDERS: ReadonlySet<string> = new Set([".git", "node_modules"]);
const STANDARD_INPUT = "-";

interface FoundFile {
  readonly path: string;
  readonly isNamed?: boolean;
  readonly isChartTemplate?: boolean;
}

/** Reads files, directories with all their subdirectories, and "-" for the standard input. */
export function readManifestFiles(paths: readonly string[]): ManifestFile[] {
  const budget = { bytes: TOTAL_BYTES_MAX };
  const found = paths.flatMap((path) => (path === STANDARD_INPUT ? [{ path, isNamed: true }] : findFiles(path)));
  if (found.length > FILES_MAX) throw new CommandFailure(`there are more than ${FILES_MAX} files; name fewer`, USAGE);
  return found.map((file) => ({ ...file, ...contentOf(file.path, budget), path: shownPath(file.path) }));
}

/** As findings and messages name it. */
export function shownPath(path: string): string {
  return path === STANDARD_INPUT ? "standard input" : path;
}

function findFiles(path: string): FoundFile[] {
  return asReadable(path, () => {
    if (!statSync(path).isDirectory()) return [{ path, isNamed: true, isChartTemplate: isInChart(dirname(path)) }];
    const walk: Walk = { found: [], entries: 0 };
    findInDirectory(path, isInChart(path), { walk, depth: 0 });
    return walk.found;
  });
}

interface Walk {
  readonly found: FoundFile[];
  entries: number;
}

/** Follows no symbolic links to directories, which could lead back to a parent. */
function findInDirectory(directory: string, isChartTemplate: boolean, at: { walk: Walk; depth: number }): void {
  const { walk, depth } = at;
  const entries = readdirSync(directory, { withFileTypes: true }).sort((left, right) =>
    left.name < right.name ? -1 : 1,
  );
  walk.entries += entries.length;
  if (depth > DEPTH_MAX || walk.entries > ENTRIES_MAX || walk.found.length > FILES_MAX)
    throw new Error(`it has more than ${FILES_MAX} manifests, or too many files or subdirectories`);
  const isChart = entries.some(({ name }) => name === "Chart.yaml");
  for (const entry of entries) {
    const path = join(directory, entry.name);
    if (entry.isDirectory()) {
      if (SKIPPED_FOLDERS.has(entry.name)) continue;
      findInDirectory(path, isChartTemplate || (isChart && entry.name === "templates"), { walk, depth: depth + 1 });
    } else if (isManifestFile(entry, path)) walk.found.push({ path, isChartTemplate });
  }
}

function isManifestFile(entry: Dirent, path: string): boolean {
  if (!MANIFEST_NAME.test(entry.name) && entry.name !== "Kustomization") return false;
  return entry.isFile() || (entry.isSymbolicLink() && statSync(path, { throwIfNoEntry: false })?.isFile() === true);
}

function isInChart(directory: string): boolean {
  return basename(directory) === "templates" && existsSync(join(dirname(directory), "Chart.yaml"));
}

function contentOf(path: string, budget: { bytes: number }): Pick<ManifestFile, "text" | "unreadable"> {
  const bytes = path === STANDARD_INPUT ? readDescriptor(0) : readPath(path);
  if (typeof bytes === "string") return { text: "", unreadable: bytes };
  budget.bytes -= bytes.length;
  if (budget.bytes < 0)
    throw new CommandFailure(`the files have more than ${TOTAL_BYTES_MAX} bytes; check fewer at once`, USAGE);
  if (bytes[0] === 0x1f && bytes[1] === 0x8b)
    return { text: "", unreadable: "is compressed; unpack it, or run helm template first" };
  try {
    return { text: new TextDecoder("utf-8", { fatal: true }).decode(bytes) };
  } catch {
    return { text: "", unreadable: "is not a text file in UTF-8" };
  }
}

function readPath(path: string): Buffer | string {
  return asReadable(path, () => {
    const descriptor = openSync(path, "r");
    try {
      return readDescriptor(descriptor);
    } finally {
      closeSync(descriptor);
    }
  });
}

const CHUNK = 1024 * 1024;

/** Reads to the end of a file or pipe. Returns a reason if there is too much. */
function readDescriptor(descriptor: number): Buffer | string {
  const chunks: Buffer[] = [];
  let length = 0;
  for (;;) {
    const chunk = Buffer.allocUnsafe(CHUNK);
    const read = readChunk(descriptor, chunk);
    if (read === 0) return Buffer.concat(chunks, length);
    length += read;
    if (length > FILE_BYTES_MAX) return `has more than ${FILE_BYTES_MAX} bytes`;
    chunks.push(chunk.subarray(0, read));
  }
}

const WAIT_MS = 10;

/** A pipe that is not ready yet reports EAGAIN; a closed one on Windows EOF. */
function readChunk(descriptor: number, chunk: Buffer): number {
  for (;;) {
    try {
      return readSync(descriptor, chunk, 0, chunk.length, null);
    } catch (thrown) {
      const { code } = thrown as NodeJS.ErrnoException;
      if (code === "EOF") return 0;
      if (code !== "EAGAIN") throw thrown;
      Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, WAIT_MS);
    }
  }
}

function asReadable<T>(path: string, work: () => T): T {
  try {
    return work();
  } catch (thrown) {
    const reason = thrown instanceof Error ? thrown.message : String(thrown);
    throw new CommandFailure(`${path} cannot be read: ${reason.replace(/^(E[A-Z]+: [^,]*), .*$/, "$1")}`, USAGE);
  }
}
