/** Runs the commands of docs/operations.md as an operator would: one shell, from the first block to the last. */
import { spawn, spawnSync, type ChildProcess } from "node:child_process";
import { once } from "node:events";
import { mkdirSync, mkdtempSync, readFileSync, rmSync, symlinkSync } from "node:fs";
import { createServer, type AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { ETCD_MISSING, hasEtcd, startEtcd } from "../../src/storage/kv-etcd/testing/start-etcd.ts";
import { ensureBuilt, EVENKEEL, ROOT } from "../smoke/built.ts";
import { missingLine, runnableBlocks, type RunnableBlock } from "./blocks.ts";

const BLOCKS = runnableBlocks(readFileSync(join(ROOT, "docs/operations.md"), "utf8"));
const isCurlMissing = spawnSync("curl", ["--version"], { stdio: "ignore" }).status !== 0;
const isMissing = !hasEtcd() || isCurlMissing;
if (!hasEtcd()) console.warn(ETCD_MISSING);
if (isCurlMissing) console.warn("curl is not installed, so the commands of docs/operations.md were not run");

describe.skipIf(isMissing)("the commands of docs/operations.md", { timeout: 180_000 }, () => {
  test("run one after the other, and print what the document says", async () => {
    ensureBuilt();
    expect(BLOCKS.length).toBeGreaterThan(8);
    const directory = mkdtempSync(join(tmpdir(), "evenkeel-operations-"));
    mkdirSync(join(directory, "bin"));
    symlinkSync(EVENKEEL, join(directory, "bin/evenkeel"));
    const etcd = (await startEtcd())!;
    try {
      const [portA, portB] = await freePorts();
      const shell = startShell(directory, {
        ETCD: etcd.endpoint,
        PORT_A: String(portA),
        PORT_B: String(portB),
      });
      try {
        for (const block of BLOCKS) await expectToRun(shell, block);
      } finally {
        await shell.end();
      }
    } finally {
      await etcd.stop();
      rmSync(directory, { recursive: true, force: true });
    }
  });
});

async function expectToRun(shell: Shell, { line, script, prints }: RunnableBlock): Promise<void> {
  const { status, output } = await shell.run(script);
  const place = `docs/operations.md:${line}`;
  expect(status, `${place} failed:\n${output}`).toBe("0");
  const missing = missingLine(prints, output);
  expect(missing, `${place} did not print ${JSON.stringify(missing)} but\n${output}`).toBeUndefined();
}

interface Shell {
  run(script: string): Promise<{ readonly status: string; readonly output: string }>;
  /** Ends it and everything it has started. */
  end(): Promise<void>;
}

/** A block ends with this line, and how its last command ended. */
const END = /^--- block ended: (\d+)$/m;

function startShell(directory: string, variables: Record<string, string>): Shell {
  const { PATH = "", HOME = "" } = process.env;
  const env = { HOME, PATH: `${join(directory, "bin")}:${PATH}`, ...variables };
  // A group of its own, so that the servers it starts end with it.
  const child = spawn("sh", ["-s"], { cwd: join(directory), env, detached: true, stdio: ["pipe", "pipe", "pipe"] });
  const guard = endGroupWithThisProcess(child);
  let output = "";
  let onOutput = (): void => {};
  for (const stream of [child.stdout, child.stderr])
    stream.setEncoding("utf8").on("data", (text: string) => {
      output += text;
      onOutput();
    });
  const exited = once(child, "exit").then(() => onOutput());
  child.stdin.write("exec 2>&1\nset -eu\ntrap 'echo \"--- block ended: $?\"' EXIT\n");
  return {
    run(script) {
      output = "";
      return new Promise((resolve) => {
        onOutput = () => {
          const [, status] = END.exec(output) ?? [];
          if (status !== undefined) resolve({ status, output: output.replace(END, "") });
          else if (child.exitCode !== null || child.signalCode !== null) resolve({ status: "ended", output });
        };
        child.stdin.write(`${script}\necho "--- block ended: 0"\n`);
      });
    },
    async end() {
      child.stdin.end();
      endGroup(child);
      await exited;
      guard.kill("SIGKILL");
    },
  };
}

function endGroup(child: ChildProcess): void {
  try {
    process.kill(-child.pid!, "SIGKILL");
  } catch {
    // Nobody is left in it.
  }
}

/** A test that hangs ends with its whole process being killed; the pipe to this guard closes all the same. */
function endGroupWithThisProcess(child: ChildProcess): ChildProcess {
  const guard = spawn("sh", ["-c", 'read _; kill -9 -- "-$0"', String(child.pid)], {
    stdio: ["pipe", "ignore", "ignore"],
  });
  guard.unref();
  return guard;
}

async function freePorts(): Promise<[number, number]> {
  const servers = [createServer(), createServer()];
  for (const server of servers) await once(server.listen(0, "127.0.0.1"), "listening");
  const [first, second] = servers.map((server) => (server.address() as AddressInfo).port);
  for (const server of servers) await once(server.close(), "close");
  return [first!, second!];
}
