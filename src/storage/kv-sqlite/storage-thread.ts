/**
 * The thread that owns the database. A program may start it before it knows the directory, because the start of a thread
 * takes as long as loading the program. The thread opens the database when it receives the options.
 */
import { Worker } from "node:worker_threads";

/** Location of the worker's code: beside this file, both from source and in a bundle. */
export const WORKER_URL = new URL(
  import.meta.url.endsWith(".ts") ? "./worker.ts" : "./kv-sqlite-worker.cjs",
  import.meta.url,
);

/** A thread that no store uses yet. It does not keep the process alive. */
export class IdleStorageThread {
  #worker: Worker | undefined = startStorageThread(WORKER_URL);

  constructor() {
    this.#worker?.unref();
    // Without a listener, the error would end the process with a stack trace. The store starts a thread of its own then.
    this.#worker?.on("error", () => (this.#worker = undefined));
  }

  /** Returns the thread to the first caller; undefined to all others, and if the thread has ended. */
  take(): Worker | undefined {
    const worker = this.#worker;
    this.#worker = undefined;
    worker?.removeAllListeners("error");
    worker?.ref();
    return worker;
  }
}

export function startStorageThread(url: URL): Worker {
  // `execArgv` is empty, so that the thread does not inherit flags of this process (loaders, test hooks).
  return new Worker(url, { execArgv: [], name: "evenkeel-kv-sqlite" });
}
