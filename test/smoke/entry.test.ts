/** Runs the built command: the heap flags of a server, and its compile cache. */
import { spawn, type ChildProcess } from "node:child_process";
import { once } from "node:events";
import { cpSync, existsSync, mkdtempSync, readdirSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import { ensureBuilt, NODE, ROOT } from "./built.ts";

const CACHE_FILE = /^evenkeel-v.*\.cache$/;
const directory = mkdtempSync(join(tmpdir(), "evenkeel-entry-"));

beforeAll(() => ensureBuilt());
afterAll(() => rmSync(directory, { recursive: true }));

/** Starts a server and waits until it is ready. */
async function serve(dist: string, nodeFlags: readonly string[] = []): Promise<ChildProcess> {
  const data = mkdtempSync(join(directory, "data-"));
  const flags = ["serve", "--data-dir", data, "--secure-port", "0", "--bind-address", "127.0.0.1"];
  const server = spawn(NODE, [...nodeFlags, join(dist, "cli.js"), ...flags], { stdio: ["ignore", "pipe", "inherit"] });
  let output = "";
  for await (const text of server.stdout.setEncoding("utf8")) if ((output += text).includes("Ready.")) break;
  expect(output).toContain("Ready.");
  return server;
}

async function stop(server: ChildProcess): Promise<void> {
  server.kill("SIGTERM");
  expect(await once(server, "exit")).toEqual([0, null]);
}

test.skipIf(process.platform !== "linux")(
  "a server bounds its young generation in the same process, unless the operator has set its size",
  { timeout: 60_000 },
  async () => {
    for (const flags of [[], ["--max-semi-space-size=16"]]) {
      const server = await serve(join(ROOT, "dist"), flags);
      const commandLine = readFileSync(`/proc/${server.pid}/cmdline`, "utf8").split("\0");
      const sizes = commandLine.filter((argument) => argument.includes("semi-space-size"));
      await stop(server);
      expect(sizes).toEqual(flags.length > 0 ? flags : ["--max-semi-space-size=8"]);
    }
  },
);

test("a server writes the compile cache when it stops, if none fits its Node.js", { timeout: 60_000 }, async () => {
  const dist = join(directory, "dist");
  cpSync(join(ROOT, "dist"), dist, { recursive: true, filter: (file) => !file.endsWith(".cache") });
  expect(readdirSync(dist).filter((name) => CACHE_FILE.test(name))).toEqual([]);
  await stop(await serve(dist));
  const [written] = readdirSync(dist).filter((name) => CACHE_FILE.test(name));
  expect(written).toBe(`evenkeel-${process.version}-${process.arch}.cache`);
  expect(existsSync(join(ROOT, "dist", written!))).toBe(true);
});
