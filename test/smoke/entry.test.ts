/** Runs the built command: the heap flags of a server, and its compile cache. */
import { execFileSync, spawn, type ChildProcess } from "node:child_process";
import { once } from "node:events";
import { cpSync, existsSync, mkdtempSync, readdirSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { ensureBuilt, NODE, ROOT } from "./built.ts";

const CACHE_FILE = /^evenkeel-v.*\.cache$/;
const directory = mkdtempSync(join(tmpdir(), "evenkeel-entry-"));

beforeAll(() => ensureBuilt());
afterAll(() => rmSync(directory, { recursive: true }));

const CLI = [NODE, join(ROOT, "dist", "cli.js")] as const;
const FLAGS = ["serve", "--secure-port", "0", "--bind-address", "127.0.0.1"] as const;

/** Starts a server and waits until it is ready. */
async function serve([program, ...first]: readonly [string, ...string[]], nodeOptions = ""): Promise<ChildProcess> {
  const server = spawn(program, [...first, ...FLAGS, "--data-dir", mkdtempSync(join(directory, "data-"))], {
    stdio: ["ignore", "pipe", "inherit"],
    env: { ...process.env, NODE_OPTIONS: nodeOptions },
  });
  let output = "";
  for await (const text of server.stdout.setEncoding("utf8")) if ((output += text).includes("Ready.")) break;
  expect(output).toContain("Ready.");
  return server;
}

async function stop(server: ChildProcess): Promise<void> {
  server.kill("SIGTERM");
  expect(await once(server, "exit")).toEqual([0, null]);
}

const BIN = [join(ROOT, "bin", "evenkeel")] as const;
const BOUND = "--max-semi-space-size=16";
const OTHER = "--max-semi-space-size=24";

describe.skipIf(process.platform !== "linux")("a server", { timeout: 60_000 }, () => {
  test.each([
    ["of the built command", CLI, "", [BOUND]],
    ["of bin/evenkeel", BIN, "", [BOUND]],
    ["of the built command whose operator has set its size", [NODE, OTHER, CLI[1]] as const, "", [OTHER]],
    ["of the built command with a size in NODE_OPTIONS", CLI, OTHER, []],
    ["of bin/evenkeel with a size in NODE_OPTIONS", BIN, OTHER, []],
  ])("%s bounds its young generation once, in the same process", async (_, command, nodeOptions, expected) => {
    const server = await serve(command, nodeOptions);
    const commandLine = readFileSync(`/proc/${server.pid}/cmdline`, "utf8").split("\0");
    await stop(server);
    expect(commandLine.filter((argument) => argument.includes("semi-space-size"))).toEqual(expected);
  });

  test.each([
    ["of the built command", CLI],
    ["of bin/evenkeel", BIN],
  ])("%s has one arena for the allocations of all threads", async (_, command) => {
    const server = await serve(command);
    const variables = readFileSync(`/proc/${server.pid}/environ`, "utf8").split("\0");
    await stop(server);
    expect(variables).toContain("MALLOC_ARENA_MAX=1");
  });

  test("has one storage thread, although the thread starts before the flags are parsed", async () => {
    const server = await serve(CLI);
    const tasks = readdirSync(`/proc/${server.pid}/task`);
    const names = tasks.map((task) => readFileSync(`/proc/${server.pid}/task/${task}/comm`, "utf8").trim());
    await stop(server);
    expect(names.filter((name) => "evenkeel-kv-sqlite".startsWith(name))).toHaveLength(1);
  });
});

test("a server writes the compile cache when it stops, if none fits its Node.js", { timeout: 60_000 }, async () => {
  const dist = join(directory, "dist");
  cpSync(join(ROOT, "dist"), dist, { recursive: true, filter: (file) => !file.endsWith(".cache") });
  expect(readdirSync(dist).filter((name) => CACHE_FILE.test(name))).toEqual([]);
  await stop(await serve([NODE, join(dist, "cli.js")]));
  const [written] = readdirSync(dist).filter((name) => CACHE_FILE.test(name));
  expect(written).toBe(`evenkeel-${process.version}-${process.arch}.cache`);
  expect(existsSync(join(ROOT, "dist", written!))).toBe(true);
});

test("the compile cache of the build fits the flags that the command sets", () => {
  const cache = readdirSync(join(ROOT, "dist")).find((name) => CACHE_FILE.test(name));
  const check = `
    const { readFileSync } = require("node:fs");
    require("node:v8").setFlagsFromString("--no-allocation-site-pretenuring");
    const [filename, cacheFile] = process.argv.slice(1);
    const options = { filename, cachedData: readFileSync(cacheFile) };
    console.log(new (require("node:vm").Script)(readFileSync(filename, "latin1"), options).cachedDataRejected);`;
  const files = [join(ROOT, "dist", "evenkeel.cjs"), join(ROOT, "dist", cache!)];
  expect(execFileSync(NODE, ["-e", check, ...files], { encoding: "utf8" })).toBe("false\n");
});
