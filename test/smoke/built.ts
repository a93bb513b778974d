/** Builds the command if it is older than its sources; test files that need it at the same time share one build. */
import { spawnSync } from "node:child_process";
import { mkdirSync, readdirSync, statSync } from "node:fs";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { fileURLToPath } from "node:url";

export const ROOT = fileURLToPath(new URL("../../", import.meta.url));
export const NODE = join(ROOT, "node_modules/.bin/node");
export const EVENKEEL = join(ROOT, "bin/evenkeel");
/** Files that tests download or create once and keep between runs. */
export const CACHE = join(ROOT, "node_modules/.cache/evenkeel");

const LOCK_TIMEOUT_MS = 60_000;

export function ensureBuilt(): void {
  mkdirSync(CACHE, { recursive: true });
  // Uses the lock of an SQLite database: processes can wait for it, and the system releases it when its holder exits.
  using lock = new DatabaseSync(join(CACHE, "build.lock"), { timeout: LOCK_TIMEOUT_MS });
  lock.exec("BEGIN EXCLUSIVE");
  if (!isStale()) return;
  const { status, stderr } = spawnSync(NODE, [join(ROOT, "scripts/build.mjs")], { cwd: ROOT, encoding: "utf8" });
  if (status !== 0) throw new Error(`the build failed: ${stderr}`);
}

function isStale(): boolean {
  const built = statSync(join(ROOT, "dist/cli.js"), { throwIfNoEntry: false });
  if (built === undefined) return true;
  const sources = ["src", "scripts"].flatMap((directory) =>
    readdirSync(join(ROOT, directory), { recursive: true, withFileTypes: true })
      .filter((entry) => entry.isFile() && !entry.name.endsWith(".test.ts"))
      .map((entry) => join(entry.parentPath, entry.name)),
  );
  return [...sources, join(ROOT, "package.json")].some((file) => statSync(file).mtimeMs > built.mtimeMs);
}
