import { expect, test } from "vitest";
import { World } from "../tools/simulator/world.ts";
import { Wakeable } from "./wakeable.ts";

async function waited(world: World, wakeable: Wakeable, signal: AbortSignal, meanwhile: () => void): Promise<number> {
  const startedAt = world.clock.monotonic();
  const wait = wakeable.wait(1_000, signal);
  world.clock.after(100, meanwhile);
  await world.run(wait);
  return world.clock.monotonic() - startedAt;
}

test("a wait lasts for its whole delay, ends early on a wake or an abort, and leaves no timer behind", async () => {
  const world = new World({ seed: 1 });
  const wakeable = new Wakeable(world.clock);
  const stop = new AbortController();
  expect(await waited(world, wakeable, stop.signal, () => {})).toBe(1_000);
  expect(await waited(world, wakeable, stop.signal, () => wakeable.wake())).toBe(100);
  expect(await waited(world, wakeable, stop.signal, () => stop.abort())).toBe(100);
  await expect(world.run(new Promise(() => {}))).rejects.toThrow("no event is left");
});

test("a wake without a waiter ends the next wait at once, and only that one", async () => {
  const world = new World({ seed: 1 });
  const wakeable = new Wakeable(world.clock);
  const { signal } = new AbortController();
  wakeable.wake();
  wakeable.wake();
  await wakeable.wait(1_000, signal);
  expect(world.clock.monotonic()).toBe(0);
  expect(await waited(world, wakeable, signal, () => {})).toBe(1_000);
});

test("a wait with an aborted signal returns at once", async () => {
  const world = new World({ seed: 1 });
  await new Wakeable(world.clock).wait(1_000, AbortSignal.abort());
  expect(world.clock.monotonic()).toBe(0);
});
