import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { World } from "../tools/simulator/world.ts";
import { sleep } from "./clock.ts";
import { WorkQueue, type WorkQueueOptions } from "./work-queue.ts";

function setUp(options: Partial<WorkQueueOptions> = {}): { world: World; queue: WorkQueue } {
  const world = new World({ seed: 1 });
  const queue = new WorkQueue({ clock: world.clock, random: world.randomFor("queue"), ...options });
  return { world, queue };
}

/** Fails if a timer is still pending. */
async function expectNoTimers(world: World): Promise<void> {
  const nowMs = world.clock.monotonic();
  await expect(world.run(new Promise(() => {}))).rejects.toThrow("no event is left");
  expect(world.clock.monotonic()).toBe(nowMs);
}

describe("keys", () => {
  test("are returned in the order in which they were added, each once however often it was added", async () => {
    const { queue } = setUp();
    for (const key of ["a", "b", "a", "c", "b"]) queue.add(key);
    expect(queue.length).toBe(3);
    expect([await queue.next(), await queue.next(), await queue.next()]).toEqual(["a", "b", "c"]);
    expect(queue.length).toBe(0);
  });

  test("go to the worker that has waited longest", async () => {
    const { queue } = setUp();
    const [first, second] = [queue.next(), queue.next()];
    queue.add("a");
    queue.add("b");
    expect(await first).toBe("a");
    expect(await second).toBe("b");
  });

  test("that are added while a worker has them are returned again after done, not before", async () => {
    const { world, queue } = setUp();
    queue.add("a");
    await queue.next();
    queue.add("a");
    queue.add("a");
    queue.add("b");
    expect(queue.length).toBe(1);
    expect(await queue.next()).toBe("b");
    const again = queue.next();
    let came: string | undefined;
    void again.then((key) => (came = key));
    await world.advance(1_000);
    expect(came).toBeUndefined();
    queue.done("a");
    expect(await again).toBe("a");
    queue.done("a");
    queue.done("b");
    expect(queue.length).toBe(0);
  });

  test("without a worker are not affected by done", () => {
    const { queue } = setUp();
    queue.done("a");
    queue.add("a");
    queue.done("a");
    expect(queue.length).toBe(1);
  });
});

describe("a delay", () => {
  test("ends on time, and the earliest of several delays of a key counts", async () => {
    const { world, queue } = setUp();
    queue.addAfter("a", 500);
    queue.addAfter("a", 200);
    queue.addAfter("a", 300);
    expect(queue.length).toBe(0);
    expect(await world.run(queue.next())).toBe("a");
    expect(world.clock.monotonic()).toBe(200);
    queue.done("a");
    await world.advance(1_000);
    expect(queue.length).toBe(0);
  });

  test.each([0, -5, Number.NaN])("of %s ms ends at once", async (delayMs) => {
    const { world, queue } = setUp();
    queue.addAfter("a", delayMs);
    await world.advance(0);
    expect(queue.length).toBe(1);
  });

  test("is never longer than a day", async () => {
    const { world, queue } = setUp();
    queue.addAfter("a", Infinity);
    await world.advance(24 * 3_600_000);
    expect(queue.length).toBe(1);
  });

  test("that ends while a worker has the key returns the key again after done", async () => {
    const { world, queue } = setUp();
    queue.add("a");
    await queue.next();
    queue.addAfter("a", 10);
    await world.advance(10);
    expect(queue.length).toBe(0);
    queue.done("a");
    expect(queue.length).toBe(1);
  });
});

describe("the wait after a failure", () => {
  test("doubles from 5 ms to the maximum, with up to half of it random", async () => {
    const { world, queue } = setUp({ retryMsMax: 1_000 });
    const expected = [5, 10, 20, 40, 80, 160, 320, 640, 1_000, 1_000];
    for (const [failures, atMost] of expected.entries()) {
      expect(queue.retries("a")).toBe(failures);
      const startedAt = world.clock.monotonic();
      queue.addRateLimited("a");
      await world.run(queue.next());
      queue.done("a");
      const waited = world.clock.monotonic() - startedAt;
      expect(waited).toBeGreaterThanOrEqual(atMost / 2 - 0.001);
      expect(waited).toBeLessThanOrEqual(atMost);
    }
  });

  test("is never longer than 60 s by default, regardless of the number of failures", async () => {
    const { world, queue } = setUp();
    for (let count = 0; count < 2_000; count++) {
      queue.addRateLimited("a");
      await world.advance(60_000);
      expect(queue.length).toBe(1);
      queue.done((await queue.next())!);
    }
  });

  test("is 5 ms after forget, and is separate for each key", async () => {
    const { world, queue } = setUp();
    for (let count = 0; count < 10; count++) queue.addRateLimited("a");
    queue.forget("a");
    expect(queue.retries("a")).toBe(0);
    queue.addRateLimited("b");
    await world.advance(5);
    // Key a has ten delays; the first one ends first, so it determines when a is returned.
    expect(new Set([await queue.next(), await queue.next()])).toEqual(new Set(["a", "b"]));
  });
});

describe("a closed queue", () => {
  test("returns undefined to every worker, returns no more keys and leaves no timer", async () => {
    const { world, queue } = setUp();
    const [first, second] = [queue.next(), queue.next()];
    queue.addAfter("later", 500);
    queue.addRateLimited("failed");
    queue.add("now");
    expect(await first).toBe("now");
    queue.add("now");
    queue.add("waiting");
    expect(await second).toBe("waiting");
    queue.add("left");
    queue.close();
    queue.done("now");
    queue.add("more");
    queue.addAfter("more", 10);
    queue.addRateLimited("more");
    expect(queue.length).toBe(0);
    expect(queue.retries("more")).toBe(0);
    expect(await queue.next()).toBeUndefined();
    queue.close();
    await expectNoTimers(world);
  });

  test("ends the wait of waiting workers", async () => {
    const { queue } = setUp();
    const waiting = [queue.next(), queue.next()];
    queue.close();
    expect(await Promise.all(waiting)).toEqual([undefined, undefined]);
  });
});

describe("the run of a queue", () => {
  test("works on every key with a limited number of workers, and keeps its keys without timers for the next run", async () => {
    const { world, queue } = setUp();
    const worked: string[] = [];
    let inWork = 0;
    let inWorkMax = 0;
    const work = async (key: string): Promise<void> => {
      inWorkMax = Math.max(inWorkMax, ++inWork);
      await sleep(world.clock, 100);
      worked.push(key);
      inWork--;
    };
    for (const key of ["a", "b", "c", "d", "e"]) queue.add(key);
    const stop = new AbortController();
    const first = queue.run(2, work, stop.signal);
    await world.advance(150);
    queue.addAfter("later", 60_000);
    stop.abort();
    queue.add("meanwhile");
    queue.addRateLimited("failed");
    await world.run(first);
    expect(worked).toEqual(["a", "b", "c", "d"]);
    await expectNoTimers(world);
    const second = new AbortController();
    const again = queue.run(2, work, second.signal);
    await world.advance(1_000);
    expect(worked.slice(4)).toEqual(["e", "later", "meanwhile", "failed"]);
    expect(inWorkMax).toBe(2);
    second.abort();
    await again;
  });

  test("rejects if the work throws, after the other workers have finished their keys, and loses no key", async () => {
    const { world, queue } = setUp();
    const worked: string[] = [];
    let isBroken = true;
    const work = async (key: string): Promise<void> => {
      if (key === "bad" && isBroken) throw new Error("broken");
      await sleep(world.clock, 100);
      worked.push(key);
    };
    for (const key of ["good", "bad", "other"]) queue.add(key);
    const { signal } = new AbortController();
    await expect(world.run(queue.run(2, work, signal))).rejects.toThrow("broken");
    expect(worked).toEqual(["good"]);
    isBroken = false;
    const stop = new AbortController();
    const again = queue.run(2, work, stop.signal);
    await world.advance(1_000);
    expect(new Set(worked)).toEqual(new Set(["good", "bad", "other"]));
    stop.abort();
    await again;
  });
});

test("the hooks of a queue are called for keys added, retried and done; for the last with the duration", async () => {
  const calls: unknown[] = [];
  const { world, queue } = setUp({
    hooks: {
      onAdd: (key) => void calls.push(`add ${key}`),
      onRetry: (key) => void calls.push(`retry ${key}`),
      onDone: (key, took) => void calls.push([`done ${key}`, took]),
    },
  });
  queue.add("a");
  queue.add("a");
  await world.advance(30);
  await queue.next();
  queue.add("a");
  queue.add("a");
  await world.advance(100);
  queue.done("a");
  await world.advance(7);
  await queue.next();
  queue.addRateLimited("a");
  queue.done("a");
  expect(calls).toEqual([
    "add a",
    "add a",
    ["done a", { waitedMs: 30, workedMs: 100 }],
    "retry a",
    ["done a", { waitedMs: 107, workedMs: 0 }],
  ]);
  queue.close();
});

test("under random operations, no key has two workers and every added key is worked on afterwards", async () => {
  const key = fc.constantFrom("a", "b", "c");
  const step = fc.oneof(
    fc.record({ kind: fc.constantFrom("add", "retry", "done"), key, ms: fc.constant(0) }),
    fc.record({ kind: fc.constantFrom("after", "pass"), key, ms: fc.integer({ min: 0, max: 200 }) }),
  );
  await fc.assert(
    fc.asyncProperty(fc.array(step, { maxLength: 40 }), async (steps) => {
      const { world, queue } = setUp({ retryMsMax: 100 });
      const inWork = new Set<string>();
      const owed = new Set<string>();
      const work = async (): Promise<void> => {
        for (let taken = await queue.next(); taken !== undefined; taken = await queue.next()) {
          expect(inWork.has(taken)).toBe(false);
          inWork.add(taken);
          owed.delete(taken);
        }
      };
      const working = work();
      const finish = (which: string): void => {
        if (inWork.delete(which)) queue.done(which);
      };
      for (const { kind, key: which, ms } of steps) {
        if (kind === "done") finish(which);
        else if (kind !== "pass") owed.add(which);
        if (kind === "add") queue.add(which);
        if (kind === "retry") queue.addRateLimited(which);
        if (kind === "after") queue.addAfter(which, ms);
        await world.advance(kind === "pass" ? ms : 0);
      }
      for (let round = 0; round < 3; round++) {
        await world.advance(200);
        for (const which of [...inWork]) finish(which);
      }
      await world.advance(0);
      expect(owed).toEqual(new Set());
      expect(queue.length).toBe(0);
      queue.close();
      await working;
    }),
    { seed: 1, numRuns: 200 },
  );
});
