/**
 * Background tasks of a server. Each has a name and runs until its signal aborts; `stop` waits for all of them.
 *
 *    running → (failed, or returned early) → waiting → running …        restarted, with a growing delay
 *    running → (returned, and it may return) → done
 *    running → (failed, and the server needs it) → the process ends
 *
 * A task that has run for `HEALTHY_MS` has recovered: its next failure counts as the first one again. A task that keeps
 * failing makes its health check fail, so that /readyz names it.
 */
import { sleep, type Clock } from "./clock.ts";
import { eitherSignal } from "./either-signal.ts";
import type { BaseEnv } from "./env.ts";
import type { Counter, MetricsRegistry } from "./metrics.ts";
import { messageOf } from "./within.ts";

export interface BackgroundTask {
  readonly name: string;
  /**
   * Runs until the signal aborts. It is called again after it has failed or returned early. Each run has its own signal,
   * which aborts when the run has failed, so that the parts of a failed run do not continue beside the next run.
   */
  run(signal: AbortSignal): Promise<void>;
  /** True if the task is done when it returns. Otherwise a return before its signal aborts counts as a failure. */
  readonly mayReturn?: boolean;
  /** True if the server cannot work without the task: its failure ends the process. */
  readonly isEssential?: boolean;
}

export interface Background {
  /** One check for each task that has failed. It fails while the task keeps failing. */
  checks(): readonly TaskCheck[];
  stop(): Promise<void>;
}

interface TaskCheck {
  readonly name: string;
  readonly check: () => string | undefined;
  readonly endpoints: readonly ["readyz"];
}

interface Supervision {
  readonly env: BaseEnv & TaskFaults;
  readonly metrics: MetricsRegistry;
}

/** How failures of tasks leave the server, and enter it in simulations. */
export interface TaskFaults {
  /** Called when the server cannot continue, with one sentence. A real process then ends. */
  readonly onFatal: (because: string) => void;
  /** Rejects when this run of the task is to fail. Only the simulator has it. */
  readonly taskFailure?: (task: string) => Promise<never>;
}

const RESTART_MS_MIN = 1_000;
const RESTART_MS_MAX = 60_000;
/** A task that has run for this long without failing is healthy. */
const HEALTHY_MS = 30_000;
/** After this many failures in a row, a task keeps failing. */
const FAILURES_MAX = 3;

export function startBackground(tasks: readonly BackgroundTask[], { env, metrics }: Supervision): Background {
  const stopping = new AbortController();
  const restarts = metrics.counter({
    name: "evenkeel_background_task_restarts_total",
    help: "Restarts of background tasks that failed or returned early, by task.",
    labels: ["task"],
  });
  const supervised = tasks.map((task) => new SupervisedTask(task, env, restarts.with(task.name)));
  const running = supervised.map((task) => task.run(stopping.signal));
  return {
    checks: () =>
      supervised
        .filter(({ hasFailed }) => hasFailed)
        .map((task) => ({
          name: `background-task/${task.name}`,
          check: () => task.problem,
          endpoints: ["readyz"],
        })),
    async stop() {
      stopping.abort();
      await Promise.all(running);
    },
  };
}

class SupervisedTask {
  readonly #task: BackgroundTask;
  readonly #env: BaseEnv & TaskFaults;
  readonly #restarts: Counter;
  /** Failures since the task was last healthy. */
  #failures = 0;
  #lastError = "";
  #startedAtMs = 0;
  #isRunning = false;

  constructor(task: BackgroundTask, env: BaseEnv & TaskFaults, restarts: Counter) {
    this.#task = task;
    this.#env = env;
    this.#restarts = restarts;
  }

  get name(): string {
    return this.#task.name;
  }

  get hasFailed(): boolean {
    return this.#lastError !== "";
  }

  /** Why the task counts as failing; undefined if it does not. */
  get problem(): string | undefined {
    const isHealthy = this.#isRunning && this.#ranForMs() >= HEALTHY_MS;
    if (this.#failures < FAILURES_MAX || isHealthy) return undefined;
    return `it has failed ${this.#failures} times in a row, the last time with: ${this.#lastError}`;
  }

  async run(stopping: AbortSignal): Promise<void> {
    const { clock, random, log, onFatal } = this.#env;
    const { name, isEssential } = this.#task;
    while (!stopping.aborted) {
      const failure = await this.#attempt(stopping);
      if (failure === undefined || stopping.aborted) return;
      const error = messageOf(failure);
      const stack = failure instanceof Error ? failure.stack : undefined;
      if (isEssential === true) {
        log.error("background task failed, and the server cannot continue without it", { task: name, error, stack });
        return onFatal(`${name} failed: ${error}`);
      }
      this.#failures = this.#ranForMs() >= HEALTHY_MS ? 1 : this.#failures + 1;
      this.#lastError = error === "" ? "an error without a message" : error;
      const waitMs = Math.min(RESTART_MS_MIN * 2 ** (this.#failures - 1), RESTART_MS_MAX) * (0.5 + random.float() / 2);
      const restart = { restartMs: Math.round(waitMs), failures: this.#failures };
      log.error("background task failed and will be restarted", { task: name, error, stack, ...restart });
      if (await sleep(clock, waitMs, stopping)) this.#restarts.inc();
    }
  }

  /** Runs the task once. Resolves to undefined if the task is done, otherwise to the failure. */
  async #attempt(stopping: AbortSignal): Promise<unknown> {
    const { clock, taskFailure } = this.#env;
    const { name, mayReturn } = this.#task;
    const ended = new AbortController();
    const signal = eitherSignal(stopping, ended.signal);
    this.#startedAtMs = clock.monotonic();
    this.#isRunning = true;
    const running = this.#start(signal);
    try {
      await (taskFailure === undefined ? running : Promise.race([running, taskFailure(name)]));
      return mayReturn === true ? undefined : new Error("it returned before it was stopped");
    } catch (thrown) {
      return thrown ?? new Error("it failed without an error");
    } finally {
      this.#isRunning = false;
      ended.abort();
      await Promise.allSettled([running]);
    }
  }

  /** A task that throws synchronously fails like any other. */
  async #start(signal: AbortSignal): Promise<void> {
    await this.#task.run(signal);
  }

  #ranForMs(): number {
    return this.#env.clock.monotonic() - this.#startedAtMs;
  }
}

/** Interval at which `waitUntil` checks its condition. Polling is simpler than notifying every waiter. */
const CONDITION_POLL_MS = 5;

/** Resolves when the condition holds or the signal aborts. */
export async function waitUntil(clock: Clock, condition: () => boolean, signal: AbortSignal): Promise<void> {
  while (!condition() && !signal.aborted) await sleep(clock, CONDITION_POLL_MS, signal);
}

/** Resolves to true when the promise resolves, to false when the signal aborts first. */
export function whenOrAborted(moment: Promise<unknown>, signal: AbortSignal): Promise<boolean> {
  return new Promise((resolve) => {
    const stop = (): void => resolve(false);
    if (signal.aborted) return stop();
    signal.addEventListener("abort", stop, { once: true });
    void moment.then(() => {
      signal.removeEventListener("abort", stop);
      resolve(true);
    });
  });
}

/** Calls `work` immediately and then at every interval, until the signal aborts. */
export async function repeat(clock: Clock, intervalMs: number, work: () => void, signal: AbortSignal): Promise<void> {
  do work();
  while (await sleep(clock, intervalMs, signal));
}
