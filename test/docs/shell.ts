/** Runs the commands of a document as an operator would: in one shell, from the first block to the last. */
import { spawn, spawnSync, type ChildProcess } from "node:child_process";
import { once } from "node:events";
import { mkdirSync, mkdtempSync, rmSync, symlinkSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect } from "vitest";
import { ensureBuilt, EVENKEEL } from "../smoke/built.ts";
import { missingLine, type RunnableBlock } from "./blocks.ts";

export function hasProgram(name: string, ...args: string[]): boolean {
  return spawnSync(name, args, { stdio: "ignore" }).status === 0;
}

/** Runs in an empty directory; all processes that the blocks start are ended with them. */
export async function expectToRunAll(
  path: string,
  blocks: readonly RunnableBlock[],
  variables: Record<string, string>,
): Promise<void> {
  ensureBuilt();
  const directory = mkdtempSync(join(tmpdir(), "evenkeel-docs-"));
  mkdirSync(join(directory, "bin"));
  symlinkSync(EVENKEEL, join(directory, "bin/evenkeel"));
  const shell = startShell(directory, variables);
  try {
    for (const block of blocks) await expectToRun(shell, path, block);
  } finally {
    await shell.end();
    rmSync(directory, { recursive: true, force: true });
  }
}

async function expectToRun(shell: Shell, path: string, { line, script, prints }: RunnableBlock): Promise<void> {
  const { status, output } = await shell.run(script);
  const place = `${path}:${line}`;
  expect(status, `${place} failed:\n${output}`).toBe("0");
  const missing = missingLine(prints, output);
  expect(missing, `${place} did not print ${JSON.stringify(missing)} but\n${output}`).toBeUndefined();
}

interface Shell {
  run(script: string): Promise<{ readonly status: string; readonly output: string }>;
  /** Ends the shell and all processes that it has started. */
  end(): Promise<void>;
}

/** A block that hangs fails after this time, so that the test names it. */
const BLOCK_MS_MAX = 120_000;

/** The last line of a block, with the exit code of its last command. */
const END = /^--- block ended: (\d+)$/m;

function startShell(directory: string, variables: Record<string, string>): Shell {
  const { PATH = "", HOME = "" } = process.env;
  const env = { HOME, PATH: `${join(directory, "bin")}:${PATH}`, ...variables };
  // A separate process group, so that the servers it starts end with it.
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
        const deadline = setTimeout(() => resolve({ status: "still running", output }), BLOCK_MS_MAX);
        onOutput = () => {
          const [, status] = END.exec(output) ?? [];
          const hasExited = child.exitCode !== null || child.signalCode !== null;
          if (status === undefined && !hasExited) return;
          clearTimeout(deadline);
          resolve({ status: status ?? "ended", output: output.replace(END, "") });
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
    // The process group is empty.
  }
}

/** If the test process is killed, the pipe to this guard closes and the guard ends the group. */
function endGroupWithThisProcess(child: ChildProcess): ChildProcess {
  const guard = spawn("sh", ["-c", 'read _; kill -9 -- "-$0"', String(child.pid)], {
    stdio: ["pipe", "ignore", "ignore"],
  });
  guard.unref();
  return guard;
}
