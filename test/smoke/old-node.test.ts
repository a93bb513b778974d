/** Runs the built command on Node.js versions without some modules and exports that the program imports. */
import { spawnSync } from "node:child_process";
import { existsSync, readFileSync, realpathSync } from "node:fs";
import { delimiter, join } from "node:path";
import { expect, test } from "vitest";
import { ensureBuilt, NODE, ROOT } from "./built.ts";

const CLI = join(ROOT, "dist/cli.js");
const { engines } = JSON.parse(readFileSync(join(ROOT, "package.json"), "utf8")) as { engines: { node: string } };
const NEEDED = Number(/^>=(\d+)$/.exec(engines.node)![1]);

interface OtherNode {
  readonly file: string;
  readonly version: string;
}

/** The first Node.js in PATH, or in the usual directories, that is too old for the command. */
function findOldNode(): OtherNode | undefined {
  const directories = [...(process.env["PATH"] ?? "").split(delimiter), "/usr/local/bin", "/usr/bin"];
  const files = new Set(
    directories
      .map((directory) => join(directory, "node"))
      .filter((file) => existsSync(file))
      .map((file) => realpathSync(file)),
  );
  return [...files]
    .map((file) => ({
      file,
      version: spawnSync(file, ["-p", "process.versions.node"], { encoding: "utf8" }).stdout.trim(),
    }))
    .find(({ version }) => Number.parseInt(version, 10) < NEEDED);
}

const old = findOldNode();

const sentence = (version: string): string => `evenkeel needs Node.js ${NEEDED} or newer; this is ${version}\n`;

test.skipIf(old === undefined)(
  old === undefined
    ? `the command on an old Node.js (skipped: this machine has none older than ${NEEDED})`
    : `on Node.js ${old.version} every command fails with one sentence and exit code 1`,
  () => {
    ensureBuilt();
    for (const commandLine of [[], ["--version"], ["serve", "--data-dir", "/nowhere"]]) {
      const { status, stdout, stderr } = spawnSync(old!.file, [CLI, ...commandLine], { encoding: "utf8" });
      expect({ status, stdout, stderr }).toEqual({ status: 1, stdout: "", stderr: sentence(old!.version) });
    }
  },
);

test("the command rejects an older Node.js before it loads the program", () => {
  ensureBuilt();
  const pretend = (version: string): string =>
    `data:text/javascript,Object.defineProperty(process,"versions",{value:{...process.versions,node:"${version}"}})`;
  const run = (version: string): { status: number | null; stdout: string; stderr: string } => {
    const { status, stdout, stderr } = spawnSync(NODE, ["--import", pretend(version), CLI, "--version"], {
      encoding: "utf8",
    });
    return { status, stdout, stderr };
  };
  expect(run(`${NEEDED - 1}.9.0`)).toEqual({ status: 1, stdout: "", stderr: sentence(`${NEEDED - 1}.9.0`) });
  expect(run("8.17.0")).toEqual({ status: 1, stdout: "", stderr: sentence("8.17.0") });
  expect(run(`${NEEDED}.0.0`)).toMatchObject({ status: 0, stderr: "" });
  expect(run("100.0.0")).toMatchObject({ status: 0, stderr: "" });
});

test("the entry of the command statically imports only modules and names that every Node.js version has", () => {
  ensureBuilt();
  const imported = [...readFileSync(CLI, "utf8").matchAll(/^import .*/gm)].map(([line]) => line.split(";")[0]);
  expect(imported).toEqual([
    'import { createRequire as __createRequire } from "node:module"',
    'import { chmodSync, readFileSync, renameSync, writeFileSync } from "node:fs"',
    'import { createRequire } from "node:module"',
    'import { join } from "node:path"',
    'import { fileURLToPath } from "node:url"',
    'import { setFlagsFromString } from "node:v8"',
    'import { Script } from "node:vm"',
  ]);
});
