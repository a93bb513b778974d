// The first steps of npm start and npm test in a new clone: install the dependencies (including the Node.js that runs
// everything else) and build. This file is JavaScript that old Node.js versions can run.
import { spawnSync } from "node:child_process";
import { existsSync, readFileSync, statSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";

export const root = dirname(dirname(fileURLToPath(import.meta.url)));
export const node = join(root, "node_modules", ".bin", process.platform === "win32" ? "node.cmd" : "node");

export function run(command, args, options = {}) {
  const result = spawnSync(command, args, {
    cwd: root,
    stdio: "inherit",
    shell: process.platform === "win32",
    ...options,
  });
  if (result.error) throw result.error;
  return result.status === null ? 1 : result.status;
}

function must(what, command, args) {
  const status = run(command, args);
  if (status !== 0) {
    console.error(`evenkeel: ${what} failed`);
    process.exit(status);
  }
}

export function install() {
  const lock = readFileSync(join(root, "package-lock.json"), "utf8");
  const stamp = join(root, "node_modules", ".evenkeel-installed");
  if (existsSync(stamp) && readFileSync(stamp, "utf8") === lock) return;
  console.log("Installing dependencies.");
  // Not `npm ci`, because it rejects a lock file without the optional packages of other platforms, and some registries
  // do not provide these.
  must("installing dependencies", "npm", ["install", "--no-save", "--no-audit", "--no-fund"]);
  writeFileSync(stamp, lock);
}

export function buildIfNeeded() {
  const built = join(root, "dist", "cli.js");
  const newest = newestSource();
  if (existsSync(built) && statSync(built).mtimeMs >= newest) return;
  console.log("Building.");
  must("the build", node, [join(root, "scripts", "build.mjs")]);
}

function newestSource() {
  const listed = spawnSync(
    "find",
    [
      join(root, "src"),
      join(root, "scripts"),
      join(root, "package.json"),
      "-type",
      "f",
      "-newer",
      join(root, "dist", "cli.js"),
    ],
    { encoding: "utf8" },
  );
  return listed.status === 0 && listed.stdout.trim() === "" ? 0 : Infinity;
}
