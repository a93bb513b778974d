import { describe, expect, test } from "vitest";
import { World } from "../tools/simulator/world.ts";
import { within } from "./within.ts";

describe("within", () => {
  test("resolves or rejects as the work does", async () => {
    const { clock } = new World({ seed: 1 });
    await expect(within(clock, 10, () => Promise.resolve("done"))).resolves.toBe("done");
    await expect(within(clock, 10, () => Promise.reject(new Error("broken")))).rejects.toThrow("broken");
  });

  test("rejects after the limit, even if the work ignores its signal", async () => {
    const world = new World({ seed: 1 });
    let signal: AbortSignal | undefined;
    const outcome = within(world.clock, 10, (given) => {
      signal = given;
      return new Promise(() => {});
    });
    await expect(world.run(outcome)).rejects.toThrow("timed out after 10 ms");
    expect(signal?.aborted).toBe(true);
    expect(world.clock.monotonic()).toBe(10);
  });

  test("rejects when the parent signal aborts, also if it was aborted before the call", async () => {
    const { clock } = new World({ seed: 1 });
    const parent = new AbortController();
    const outcome = within(clock, 10, () => new Promise(() => {}), parent.signal);
    parent.abort();
    await expect(outcome).rejects.toThrow("the operation was aborted");
    await expect(within(clock, 10, () => new Promise(() => {}), parent.signal)).rejects.toThrow(
      "the operation was aborted",
    );
  });
});
