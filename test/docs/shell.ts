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

/** Runs the blocks in a new directory, and ends all processes that the blocks have started. */
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

/** A block that takes longer than this fails, so that the test can name the block that hangs. */
const BLOCK_MS_MAX = 120_000;

/**
 * The line that the shell prints after a block: with 0 if the block succeeded, otherwise with the exit code of the
 * command that failed.
 */
const END = /^--- block ended: (\d+)$/m;

function startShell(directory: string, variables: Record<string, string>): Shell {
  const { PATH = "", HOME = "" } = process.env;
  const env = { HOME, PATH: `${join(directory, "bin")}:${PATH}`, ...variables };
  // The shell has its own process group, so that the servers that it starts end with it.
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
    // All processes of the group have ended already.
  }
}

/**
 * Starts a guard that ends the process group when this process ends: the pipe to the guard closes even if this process
 * is killed.
 */
function endGroupWithThisProcess(child: ChildProcess): ChildProcess {
  const guard = spawn("sh", ["-c", 'read _; kill -9 -- "-$0"', String(child.pid)], {
    stdio: ["pipe", "ignore", "ignore"],
  });
  guard.unref();
  return guard;
}
