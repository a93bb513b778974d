// npm test: runs all checks, also in a new clone. Its last line is "N passed, M failed[, K skipped]".
import { spawnSync } from "node:child_process";
import { existsSync, mkdtempSync, readFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { buildIfNeeded, install, node, root } from "./prepare.mjs";

const onlyFast = process.argv.includes("--fast");
const counts = { passed: 0, failed: 0, skipped: 0 };

function step(name, command, args) {
  console.log(`\n== ${name}`);
  const path = `${join(root, "node_modules", ".bin")}:${process.env.PATH}`;
  const result = spawnSync(command, args, { cwd: root, stdio: "inherit", env: { ...process.env, PATH: path } });
  return result.status === 0;
}

function check(name, command, args) {
  if (step(name, command, args)) counts.passed++;
  else {
    counts.failed++;
    console.log(`${name} FAILED`);
  }
}

function vitest(name, args) {
  const report = join(mkdtempSync(join(tmpdir(), "evenkeel-test-")), "report.json");
  const isGreen = step(name, join(root, "node_modules", ".bin", "vitest"), [
    "run",
    ...args,
    "--reporter=default",
    "--reporter=json",
    `--outputFile.json=${report}`,
  ]);
  if (!existsSync(report)) {
    counts.failed++;
    return;
  }
  const { numPassedTests, numFailedTests, numPendingTests, numTodoTests } = JSON.parse(readFileSync(report, "utf8"));
  counts.passed += numPassedTests;
  counts.failed += numFailedTests;
  counts.skipped += numPendingTests + numTodoTests;
  // A test file that fails to load counts as one failure, because it has no failed test to count.
  if (!isGreen && numFailedTests === 0) counts.failed++;
}

/** Installs Debian's etcd if possible. Tests that need etcd report if it is missing. */
function ensureEtcd() {
  const has = (program) => spawnSync("sh", ["-c", `command -v ${program}`]).status === 0;
  if (has("etcd") || !has("apt-get") || process.getuid?.() !== 0) return;
  console.log("Installing etcd-server for the tests that need it.");
  const apt = (...args) =>
    spawnSync("apt-get", args, { stdio: "ignore", env: { ...process.env, DEBIAN_FRONTEND: "noninteractive" } })
      .status === 0;
  if (!(apt("update") && apt("install", "-y", "etcd-server"))) console.log("failed to install etcd-server");
}

const started = Date.now();
install();
if (!onlyFast) {
  buildIfNeeded();
  ensureEtcd();
}
check("format", join(root, "node_modules", ".bin", "oxfmt"), ["--check"]);
check("lint", join(root, "node_modules", ".bin", "oxlint"), ["--type-aware", "--deny-warnings"]);
check("types", join(root, "node_modules", ".bin", "tsc"), ["-p", root]);
vitest("unit, behavior and architecture tests", ["--project", "unit"]);
if (!onlyFast) vitest("tests with real processes, etcd and kubectl", ["--project", "external"]);
if (!existsSync(node)) console.log(`(run by Node.js ${process.version})`);

const skipped = counts.skipped > 0 ? `, ${counts.skipped} skipped` : "";
console.log(`\nin ${Math.round((Date.now() - started) / 1000)} s`);
console.log(`${counts.passed} passed, ${counts.failed} failed${skipped}`);
process.exit(counts.failed === 0 ? 0 : 1);
