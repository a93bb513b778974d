/** Makes single background tasks of a simulated server fail, as if a bug or an unexpected value had made them throw. */
import type { Host } from "./host.ts";

interface RunningTask {
  readonly name: string;
  readonly fail: (reason: Error) => void;
}

export class SimulatedTasks {
  readonly #host: Host;
  #running: readonly RunningTask[] = [];

  constructor(host: Host) {
    this.#host = host;
  }

  /** The names of the tasks that can fail, each once. */
  get names(): readonly string[] {
    return [...new Set(this.#running.map(({ name }) => name))];
  }

  /** Rejects when this run of the task is to fail. */
  readonly failureOf = (name: string): Promise<never> => {
    const { promise, reject } = Promise.withResolvers<never>();
    this.#running = [...this.#running, { name, fail: reject }];
    return promise;
  };

  /** Makes the current run of all tasks with this name fail. Returns whether there are any. */
  fail(name: string): boolean {
    const failing = this.#running.filter((task) => task.name === name);
    this.#running = this.#running.filter((task) => task.name !== name);
    for (const task of failing) this.#host.run(() => task.fail(new Error("the simulation made this task fail")));
    return failing.length > 0;
  }
}
