import { describe, expect, test } from "vitest";
import { SILENT_LOG } from "../../base/log.ts";
import { WatchCache } from "../../storage/watch-cache/cache.ts";
import { World } from "../../tools/simulator/world.ts";
import { DOUBT_MS, DOUBT_WINDOW_MS, DoubtBudget } from "./doubt-budget.ts";

/** A server with its own budget on the store of the world. */
async function join(world: World): Promise<{ readonly budget: DoubtBudget; leave(): Promise<void> }> {
  const { clock } = world;
  const kv = world.openKv();
  const cache = new WatchCache({ kv, clock, root: "/registry/" });
  const budget = new DoubtBudget({ storageRoot: "/registry/", store: { kv, cache }, clock, log: SILENT_LOG });
  const stop = new AbortController();
  const running = Promise.all([cache.run(stop.signal), budget.task.run(stop.signal)]);
  await world.advance(100);
  return {
    budget,
    async leave() {
      stop.abort();
      await world.run(running);
    },
  };
}

describe("the budget of doubt", () => {
  test("allows doubt for 30 s in 10 minutes, on all servers together", async () => {
    const world = new World({ seed: 1 });
    const [a, b] = [await join(world), await join(world)];
    expect(a.budget.mayDoubt()).toBe(true);
    await world.advance(DOUBT_MS - 1_000);
    expect([a.budget.mayDoubt(), b.budget.mayDoubt()]).toEqual([true, true]);
    await world.advance(1_000);
    expect([a.budget.mayDoubt(), b.budget.mayDoubt()]).toEqual([false, false]);
    await world.advance(DOUBT_WINDOW_MS - DOUBT_MS - 5_000);
    expect([a.budget.mayDoubt(), b.budget.mayDoubt()]).toEqual([false, false]);
    await world.advance(10_000);
    expect([a.budget.mayDoubt(), b.budget.mayDoubt()]).toEqual([true, true]);
    await Promise.all([a.leave(), b.leave()]);
  });

  test("is not renewed by a restart of the server", async () => {
    const world = new World({ seed: 1 });
    const first = await join(world);
    first.budget.mayDoubt();
    await world.advance(DOUBT_MS);
    await first.leave();
    const second = await join(world);
    expect(second.budget.mayDoubt()).toBe(false);
    await second.leave();
  });
});
