/**
 * The event loop's side of the connection to the worker. Replies arrive in the order of the requests and are handled
 * synchronously, so the changes of a commit are known here before any later reply is handled. When the worker ends for
 * any reason, or reports that it cannot use the database any more, every pending request fails and `onFailure` is called
 * once.
 */
import type { Worker } from "node:worker_threads";
import { StorageError } from "../kv.ts";
import type { OpenReply, WorkerReply, WorkerRequest, WorkerError, WorkerFailure, WorkerOptions } from "./protocol.ts";

export type WorkerOutcome = Exclude<WorkerReply, WorkerError> | StorageError;
type Opened = Exclude<OpenReply, WorkerError>;

export class WorkerLink {
  readonly #worker: Worker;
  readonly #exited: Promise<void>;
  /** Handlers of the requests that have no reply yet, oldest first. */
  readonly #pending: ((outcome: WorkerOutcome) => void)[] = [];
  #onOpened: ((outcome: Opened | StorageError) => void) | undefined;
  #failure: StorageError | undefined;
  #onFailure: (error: StorageError) => void = () => {};

  private constructor(worker: Worker, options: WorkerOptions) {
    this.#worker = worker;
    const { promise, resolve } = Promise.withResolvers<void>();
    this.#exited = promise;
    this.#worker.on("message", (message: OpenReply | WorkerReply | WorkerFailure) => {
      if (message.kind === "failed") this.#fail(toError(message.error));
      else this.#receive(message);
    });
    this.#worker.on("error", (thrown) => this.#fail(endedError(thrown)));
    this.#worker.on("exit", () => {
      this.#fail(endedError(undefined));
      resolve();
    });
    this.#worker.postMessage(options, []);
  }

  /** Resolves when the database is open; rejects with the reason if it cannot be opened. */
  static async open(worker: Worker, options: WorkerOptions): Promise<{ link: WorkerLink; opened: Opened }> {
    const link = new WorkerLink(worker, options);
    const outcome = await new Promise<Opened | StorageError>((resolve) => {
      link.#onOpened = resolve;
    });
    if (!(outcome instanceof StorageError)) return { link, opened: outcome };
    await link.terminate();
    throw outcome;
  }

  set onFailure(callback: (error: StorageError) => void) {
    this.#onFailure = callback;
  }

  get hasFailed(): boolean {
    return this.#failure !== undefined;
  }

  get pendingCount(): number {
    return this.#pending.length;
  }

  send(request: WorkerRequest, onOutcome: (outcome: WorkerOutcome) => void, transfer: ArrayBuffer[] = []): void {
    if (this.#failure !== undefined) {
      const failure = this.#failure;
      queueMicrotask(() => onOutcome(failure));
      return;
    }
    // Pending requests keep the process alive; an idle store does not.
    if (this.#pending.length === 0) this.#worker.ref();
    this.#pending.push(onOutcome);
    this.#worker.postMessage(request, transfer);
  }

  async terminate(): Promise<void> {
    await this.#worker.terminate();
    await this.#exited;
  }

  #receive(reply: OpenReply | WorkerReply): void {
    if (this.#onOpened !== undefined) {
      const onOpened = this.#onOpened;
      this.#onOpened = undefined;
      this.#worker.unref();
      onOpened(reply.kind === "error" ? toError(reply) : (reply as Opened));
      return;
    }
    const onOutcome = this.#pending.shift();
    if (this.#pending.length === 0) this.#worker.unref();
    onOutcome?.(reply.kind === "error" ? toError(reply) : (reply as Exclude<WorkerReply, WorkerError>));
  }

  #fail(failure: StorageError): void {
    if (this.#failure !== undefined) return;
    this.#failure = failure;
    this.#worker.unref();
    this.#onOpened?.(failure);
    for (const onOutcome of this.#pending.splice(0)) onOutcome(failure);
    this.#onFailure(failure);
  }
}

function endedError(cause: unknown): StorageError {
  const reason = cause instanceof Error ? `: ${cause.message}` : "";
  return new StorageError("unavailable", `The storage thread has ended${reason}.`, { cause });
}

function toError(error: WorkerError): StorageError {
  return new StorageError(error.code, error.message, error.revision === undefined ? {} : { revision: error.revision });
}
