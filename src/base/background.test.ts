import { describe, expect, test } from "vitest";
import { World } from "../tools/simulator/world.ts";
import { startBackground, type Background, type BackgroundTask } from "./background.ts";
import { sleep } from "./clock.ts";
import { MetricsRegistry } from "./metrics.ts";
import { runTogether } from "./run-together.ts";
import { untilAborted } from "./until-aborted.ts";

class Supervised implements AsyncDisposable {
  readonly world = new World({ seed: 1 });
  readonly metrics = new MetricsRegistry();
  readonly logged: unknown[] = [];
  readonly fatal: string[] = [];
  readonly background: Background;
  /** The times at which the task was started. */
  readonly startedAtMs: number[] = [];

  constructor(run: (signal: AbortSignal, supervised: Supervised) => Promise<void>, more: Partial<BackgroundTask> = {}) {
    const { env, clock } = this.world;
    const log = {
      ...env.log,
      error: (message: string, fields?: object) => void this.logged.push({ message, ...fields }),
    };
    const task: BackgroundTask = {
      name: "test",
      run: (signal) => {
        this.startedAtMs.push(clock.monotonic());
        return run(signal, this);
      },
      ...more,
    };
    this.background = startBackground([task], {
      env: { ...env, log, onFatal: (because) => void this.fatal.push(because) },
      metrics: this.metrics,
    });
  }

  get restarts(): string | undefined {
    return /^evenkeel_background_task_restarts_total\{task="test"\} (\d+)$/m.exec(this.metrics.render())?.[1];
  }

  /** The failing checks, as "name: reason". */
  get problems(): string[] {
    return this.background.checks().flatMap(({ name, check }) => {
      const problem = check();
      return problem === undefined ? [] : [`${name}: ${problem}`];
    });
  }

  get delaysMs(): number[] {
    return this.startedAtMs.slice(1).map((atMs, index) => atMs - this.startedAtMs[index]!);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.world.run(this.background.stop());
  }
}

describe("a background task that fails", () => {
  test("is restarted with growing delays that have jitter, and each restart is counted and logged", async () => {
    await using supervised = new Supervised(() => Promise.reject(new Error("broken")));
    await supervised.world.advance(400_000);
    const { delaysMs } = supervised;
    expect(delaysMs.length).toBeGreaterThanOrEqual(8);
    for (const [index, delayMs] of delaysMs.entries()) {
      const longestMs = Math.min(1_000 * 2 ** index, 60_000);
      expect(delayMs).toBeGreaterThanOrEqual(longestMs / 2);
      expect(delayMs).toBeLessThanOrEqual(longestMs);
    }
    expect(new Set(delaysMs.slice(-3)).size).toBe(3);
    expect(supervised.restarts).toBe(String(delaysMs.length));
    expect(supervised.logged[1]).toMatchObject({
      message: "background task failed and will be restarted",
      ...{ task: "test", error: "broken", failures: 2, restartMs: Math.round(delaysMs[1]!) },
    });
  });

  test("is named by a health check from its third failure in a row, until it has run for 30 s", async () => {
    let isBroken = true;
    await using supervised = new Supervised(async (signal, { world }) => {
      await sleep(world.clock, 100, signal);
      if (isBroken) throw new Error("broken");
      await untilAborted(signal);
    });
    expect(supervised.background.checks()).toEqual([]);
    while (supervised.logged.length < 2) await supervised.world.advance(50);
    expect(supervised.background.checks()).toHaveLength(1);
    expect(supervised.problems).toEqual([]);
    while (supervised.logged.length < 3) await supervised.world.advance(50);
    expect(supervised.problems).toEqual([
      "background-task/test: it has failed 3 times in a row, the last time with: broken",
    ]);
    isBroken = false;
    await supervised.world.advance(25_000);
    expect(supervised.problems).toHaveLength(1);
    await supervised.world.advance(10_000);
    expect(supervised.problems).toEqual([]);
    expect(supervised.restarts).toBe("3");
  });

  test("is restarted as after its first failure once it has run for 30 s", async () => {
    let runs = 0;
    await using supervised = new Supervised(async (signal, { world }) => {
      if (++runs === 6) await sleep(world.clock, 31_000, signal);
      throw new Error("broken");
    });
    await supervised.world.advance(200_000);
    expect(supervised.delaysMs[4]).toBeGreaterThan(2_000);
    expect(supervised.delaysMs[5]).toBeLessThanOrEqual(62_000);
  });

  test("has its signal aborted, so that its remaining parts end before the next run", async () => {
    let running = 0;
    let runningMax = 0;
    await using supervised = new Supervised(async (signal) => {
      runningMax = Math.max(runningMax, ++running);
      void untilAborted(signal).then(() => running--);
      throw new Error("broken");
    });
    await supervised.world.advance(30_000);
    expect(supervised.startedAtMs.length).toBeGreaterThan(3);
    expect([running, runningMax]).toEqual([0, 1]);
  });

  test.each([
    [
      "synchronously",
      (): Promise<void> => {
        throw new Error("at once");
      },
      "at once",
    ],
    // oxlint-disable-next-line typescript/prefer-promise-reject-errors -- any value can be thrown
    ["with undefined", () => Promise.reject(undefined), "it failed without an error"],
    ["by returning early", () => Promise.resolve(), "it returned before it was stopped"],
  ])("%s is restarted", async (_, run, error) => {
    await using supervised = new Supervised(run);
    await supervised.world.advance(5_000);
    expect(supervised.logged[0]).toMatchObject({ error });
    expect(supervised.startedAtMs.length).toBeGreaterThanOrEqual(3);
  });

  test("is not restarted once the server is stopping", async () => {
    const supervised = new Supervised(async (signal) => {
      await untilAborted(signal);
      throw new Error("aborted");
    });
    await supervised.world.advance(1_000);
    await supervised.world.run(supervised.background.stop());
    await supervised.world.advance(100_000);
    expect(supervised.startedAtMs).toHaveLength(1);
    expect(supervised.logged).toEqual([]);
  });

  test("ends the process if the server needs it", async () => {
    await using supervised = new Supervised(() => Promise.reject(new Error("broken")), { isEssential: true });
    await supervised.world.advance(100_000);
    expect(supervised.fatal).toEqual(["test failed: broken"]);
    expect(supervised.startedAtMs).toHaveLength(1);
  });
});

test("a background task that may return is done when it returns", async () => {
  await using supervised = new Supervised(() => Promise.resolve(), { mayReturn: true });
  await supervised.world.advance(100_000);
  expect(supervised.startedAtMs).toHaveLength(1);
  expect([supervised.logged, supervised.problems]).toEqual([[], []]);
});

describe("parts that run together", () => {
  test("end together if one fails, and the failure is reported after all have ended", async () => {
    const world = new World({ seed: 1 });
    const story: string[] = [];
    const running = runTogether(new AbortController().signal, [
      async (signal) => {
        await untilAborted(signal);
        await sleep(world.clock, 100);
        story.push("ended");
      },
      async () => {
        await sleep(world.clock, 50);
        throw new Error("broken");
      },
    ]).catch((thrown: unknown) => void story.push(String(thrown)));
    await world.run(running);
    expect(story).toEqual(["ended", "Error: broken"]);
  });

  test("end together if one returns early, or if the signal aborts", async () => {
    const world = new World({ seed: 1 });
    const stop = new AbortController();
    await runTogether(stop.signal, [untilAborted, () => Promise.resolve()]);
    const running = runTogether(stop.signal, [untilAborted, untilAborted]);
    stop.abort();
    await world.run(running);
    expect(stop.signal.aborted).toBe(true);
  });
});
