/** Starts child processes of the benchmark, and stops them when the benchmark ends, even if it fails. */
import { spawn, type ChildProcess, type StdioOptions } from "node:child_process";
import { once } from "node:events";

const STOP_MS = 10_000;

export interface ChildOptions {
  readonly command: readonly string[];
  readonly stdio: StdioOptions;
  readonly cwd?: string;
}

export class Child {
  readonly process: ChildProcess;
  /** Replies carry no ID, so each IPC message is sent only after the reply to the previous one. */
  #lastQuestion: Promise<unknown> = Promise.resolve();
  readonly #kill = (): void => void this.process.kill("SIGKILL");

  constructor({ command, stdio, cwd }: ChildOptions) {
    const [program, ...args] = command;
    this.process = spawn(program!, args, { stdio, ...(cwd === undefined ? {} : { cwd }) });
    // One listener for each process.
    process.setMaxListeners(0);
    process.on("exit", this.#kill);
    this.process.once("exit", () => process.off("exit", this.#kill));
  }

  get pid(): number {
    const { pid } = this.process;
    if (pid === undefined) throw new Error("failed to start a process");
    return pid;
  }

  get hasEnded(): boolean {
    return this.process.exitCode !== null || this.process.signalCode !== null;
  }

  /** Resolves to the reply to an IPC message; rejects if the process exits first. */
  ask<Reply>(message: unknown): Promise<Reply> {
    const response = this.#lastQuestion.then(() => this.#askNow<Reply>(message));
    this.#lastQuestion = response.catch(() => undefined);
    return response;
  }

  async #askNow<Reply>(message: unknown): Promise<Reply> {
    if (this.hasEnded) throw new Error("a benchmark process has exited");
    const ended = new AbortController();
    const onExit = (): void => ended.abort(new Error("a benchmark process exited unexpectedly"));
    this.process.once("exit", onExit);
    try {
      const reply = once(this.process, "message", { signal: ended.signal });
      this.process.send(message as object);
      const [value] = (await reply) as [Reply];
      return value;
    } catch (thrown) {
      throw ended.signal.aborted ? ended.signal.reason : thrown;
    } finally {
      this.process.off("exit", onExit);
    }
  }

  async stop(): Promise<void> {
    if (this.hasEnded) return;
    const exited = once(this.process, "exit");
    this.process.kill("SIGTERM");
    const timer = setTimeout(this.#kill, STOP_MS);
    await exited;
    clearTimeout(timer);
  }
}
