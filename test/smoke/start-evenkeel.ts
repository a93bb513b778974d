/**
 * Runs the built command in a separate process, and sends it requests over real TLS. Every process is ended by its PID.
 */
import { spawn, type ChildProcess } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { Agent } from "node:https";
import { ask, type SmokeResponse, type Target } from "./client.ts";
import { ensureBuilt, EVENKEEL, ROOT } from "./built.ts";

export interface Exit {
  readonly code: number | null;
  readonly signal: NodeJS.Signals | null;
}

/** A process and its output. */
export interface Command extends AsyncDisposable {
  readonly pid: number;
  readonly child: ChildProcess;
  readonly exited: Promise<Exit>;
  readonly stdout: string;
  readonly stderr: string;
  /** Resolves when standard output matches; rejects if the process ends first. */
  printed(pattern: RegExp): Promise<RegExpExecArray>;
}

export interface Evenkeel extends Target, AsyncDisposable {
  readonly command: Command;
  readonly pid: number;
  readonly dataDir: string;
  readonly kubeconfig: string;
  readonly stdout: string;
  readonly stderr: string;
  request(method: string, path: string, body?: unknown, headers?: Record<string, string>): Promise<SmokeResponse>;
  /** Sends SIGTERM; resolves when the process has ended. */
  stop(): Promise<Exit>;
  /** Sends SIGKILL, whatever the server is doing; resolves when the process has ended. */
  kill9(): Promise<Exit>;
}

export interface StartOptions {
  /** The data directory. It is kept if given; otherwise it is created, and removed with the server. */
  readonly dataDir?: string;
  readonly flags?: readonly string[];
  /** The CA of the server's certificate. Default: that in the data directory. */
  readonly caFile?: string;
}

export const TOKEN = "smoke-test-token";

export async function startEvenkeel(options: StartOptions = {}): Promise<Evenkeel> {
  const dataDir = options.dataDir ?? temporaryDirectory();
  const tokenFile = join(dataDir, "given-tokens.csv");
  writeFileSync(tokenFile, `${TOKEN},smoke,smoke,"system:masters"\n`, { mode: 0o600 });
  const command = run(
    "serve",
    "--secure-port",
    "0",
    "--data-dir",
    dataDir,
    "--token-auth-file",
    tokenFile,
    ...(options.flags ?? []),
  );
  const removeData = (): void =>
    options.dataDir === undefined ? rmSync(dataDir, { recursive: true, force: true }) : undefined;
  try {
    const [, url] = await command.printed(/ at (https:\/\/\S+)/);
    await command.printed(/^Ready\.$/m);
    return running({ command, dataDir, url: url!, caFile: options.caFile ?? join(dataDir, "ca.crt"), removeData });
  } catch (thrown) {
    await command[Symbol.asyncDispose]();
    removeData();
    throw thrown;
  }
}

function running(made: {
  command: Command;
  dataDir: string;
  url: string;
  caFile: string;
  removeData: () => void;
}): Evenkeel {
  const { command, dataDir, url, caFile, removeData } = made;
  const target: Target = {
    url,
    port: Number(new URL(url).port),
    ca: readFileSync(caFile, "utf8"),
    token: TOKEN,
    agent: new Agent({ keepAlive: true, maxSockets: 64 }),
  };
  const end = async (signal: NodeJS.Signals): Promise<Exit> => {
    command.child.kill(signal);
    const exit = await command.exited;
    target.agent.destroy();
    return exit;
  };
  return {
    ...target,
    command,
    pid: command.pid,
    dataDir,
    kubeconfig: join(dataDir, "kubeconfig"),
    get stdout() {
      return command.stdout;
    },
    get stderr() {
      return command.stderr;
    },
    request: (method, path, body, headers) =>
      ask(target, { method, path, body, ...(headers === undefined ? {} : { headers }) }),
    stop: () => end("SIGTERM"),
    kill9: () => end("SIGKILL"),
    async [Symbol.asyncDispose]() {
      target.agent.destroy();
      await command[Symbol.asyncDispose]();
      removeData();
    },
  };
}

/** Runs the command. Disposing kills it if it is still running. */
export function run(...commandLine: string[]): Command {
  return runIn(tmpdir(), ...commandLine);
}

/** As `run`, in this working directory. */
export function runIn(directory: string, ...commandLine: string[]): Command {
  ensureBuilt();
  const child = spawn(EVENKEEL, commandLine, { cwd: directory, stdio: ["ignore", "pipe", "pipe"] });
  return follow(child);
}

/** Like `run`, for any program. */
export function runProgram(
  program: string,
  commandLine: readonly string[],
  env: NodeJS.ProcessEnv = process.env,
): Command {
  return follow(spawn(program, commandLine, { cwd: ROOT, env, stdio: ["ignore", "pipe", "pipe"] }));
}

function follow(child: ChildProcess): Command {
  endWithThisProcess(child);
  const said = { stdout: "", stderr: "" };
  const waiting = new Set<() => void>();
  for (const name of ["stdout", "stderr"] as const) {
    child[name]!.setEncoding("utf8").on("data", (text: string) => {
      said[name] += text;
      for (const wake of waiting) wake();
    });
  }
  const exited = new Promise<Exit>((resolve, reject) => {
    child.once("error", reject);
    // "close" comes after the last byte of output, unlike "exit".
    child.once("close", (code, signal) => resolve({ code, signal }));
  });
  exited.catch(() => {});
  return {
    pid: child.pid!,
    child,
    exited,
    get stdout() {
      return said.stdout;
    },
    get stderr() {
      return said.stderr;
    },
    printed: (pattern) =>
      new Promise((resolve, reject) => {
        const check = (): void => {
          const match = pattern.exec(said.stdout);
          if (match === null) return;
          waiting.delete(check);
          resolve(match);
        };
        waiting.add(check);
        exited.then(
          ({ code, signal }) =>
            reject(new Error(`ended (${code ?? signal}) before it printed ${pattern}: ${said.stdout}${said.stderr}`)),
          reject,
        );
        check();
      }),
    async [Symbol.asyncDispose]() {
      if (child.exitCode === null && child.signalCode === null) child.kill("SIGKILL");
      await exited;
    },
  };
}

/**
 * Starts a guard that ends the process with this one: if the test process is killed, none of its handlers run, but the
 * pipe to the guard closes.
 */
function endWithThisProcess(child: ChildProcess): void {
  const guard = spawn("sh", ["-c", 'read _; kill -9 "$0"', String(child.pid)], { stdio: ["pipe", "ignore", "ignore"] });
  guard.unref();
  (guard.stdin as unknown as { unref(): void }).unref();
  // The guard ends with the process; otherwise it could later kill another process with the same PID.
  child.once("exit", () => guard.kill("SIGKILL"));
}

export function temporaryDirectory(): string {
  return mkdtempSync(join(tmpdir(), "evenkeel-smoke-"));
}

/** A directory that is removed at the end of the block. */
export function disposableDirectory(): { readonly path: string } & Disposable {
  const path = temporaryDirectory();
  return { path, [Symbol.dispose]: () => rmSync(path, { recursive: true, force: true }) };
}
