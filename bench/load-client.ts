/** The benchmark's side of the IPC channel to the load generator. */
import { fileURLToPath } from "node:url";
import { Child } from "./child.ts";
import type {
  Reply,
  Command,
  FanOutResult,
  FetchResult,
  PacedResult,
  RequestShape,
  RunResult,
} from "./client/protocol.ts";
import { pinned } from "./cores.ts";

type Without<Kind extends Command["kind"]> = Omit<Extract<Command, { kind: Kind }>, "kind">;

export class LoadClient {
  readonly #child: Child;

  constructor(core: number | undefined) {
    const file = fileURLToPath(new URL("client/main.ts", import.meta.url));
    this.#child = new Child({
      command: pinned(core, [process.execPath, file]),
      stdio: ["ignore", "inherit", "inherit", "ipc"],
    });
  }

  open(options: Without<"open">): Promise<void> {
    return this.#perform({ kind: "open", ...options });
  }

  run(options: Without<"run">): Promise<RunResult> {
    return this.#perform({ kind: "run", ...options });
  }

  beginPace(options: Without<"begin-pace">): Promise<void> {
    return this.#perform({ kind: "begin-pace", ...options });
  }

  endPace(name: string): Promise<PacedResult> {
    return this.#perform({ kind: "end-pace", name });
  }

  fetch(name: string, request: RequestShape): Promise<FetchResult> {
    return this.#perform({ kind: "fetch", name, request });
  }

  watch(options: Without<"watch">): Promise<void> {
    return this.#perform({ kind: "watch", ...options });
  }

  fanOut(options: Without<"fan-out">): Promise<FanOutResult> {
    return this.#perform({ kind: "fan-out", ...options });
  }

  close(name: string): Promise<void> {
    return this.#perform({ kind: "close", name });
  }

  stop(): Promise<void> {
    return this.#child.stop();
  }

  async #perform<Value>(command: Command): Promise<Value> {
    const response = await this.#child.ask<Reply>(command);
    if (!response.ok) throw new Error(response.error);
    return response.value as Value;
  }
}
