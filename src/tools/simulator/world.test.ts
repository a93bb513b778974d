import { expect, test } from "vitest";
import { World } from "./world.ts";

test("code that never waits for time to pass is ended and fails, so that time can advance", async () => {
  let standstills = 0;
  const world = new World({ seed: 1, onStandstill: () => void standstills++ });
  const spin = async (): Promise<never> => {
    for (;;) await Promise.resolve(world.countingClock.monotonic());
  };
  const spinning = expect(spin()).rejects.toThrow("virtual time does not advance");
  await expect(world.advance(1)).rejects.toThrow("virtual time does not advance: 1000000 steps at 0 ms");
  await spinning;
  expect(standstills).toBe(1);
});

test("code that waits now and then may continue forever", async () => {
  const world = new World({ seed: 1 });
  for (let turn = 0; turn < 3; turn++) {
    for (let step = 0; step < 600_000; step++) world.countingClock.now();
    await world.advance(0);
  }
  expect(world.clock.monotonic()).toBe(0);
});
