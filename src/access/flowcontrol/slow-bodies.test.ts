import { describe, expect, test } from "vitest";
import { createManualClock } from "../../../test/testing/storage/conformance/manual-clock.ts";
import type { RequestBody } from "../../serving/http/message.ts";
import { SlowBodies } from "./slow-bodies.ts";

describe("a slow request body", () => {
  interface Read {
    readonly arrive: () => void;
    readonly bytes: Promise<Buffer>;
    readonly seen: string[];
  }

  function world(reacquire: () => Promise<void> = () => Promise.resolve()) {
    const clock = createManualClock();
    const slow = new SlowBodies(clock, (callback) => callback());
    return {
      wait: async (ms: number): Promise<void> => {
        clock.advance(ms);
        await new Promise(setImmediate);
      },
      read(who: string): Read {
        const { promise, resolve } = Promise.withResolvers<Buffer>();
        const body: RequestBody = { isEmpty: false, read: () => promise, stream: () => expect.unreachable() };
        const seen: string[] = [];
        const reader = {
          user: who,
          leave: () => void seen.push("left"),
          async reacquire() {
            await reacquire();
            seen.push("back");
          },
        };
        const bytes = slow.read(body, 100, reader);
        bytes.catch(() => undefined);
        return { arrive: () => resolve(Buffer.from("{}")), bytes, seen };
      },
    };
  }

  test("releases the seat of its request until it has arrived", async () => {
    const { read, wait } = world();
    const { arrive, bytes, seen } = read("jane");
    await wait(99);
    expect(seen).toEqual([]);
    await wait(1);
    expect(seen).toEqual(["left"]);
    arrive();
    expect(String(await bytes)).toBe("{}");
    expect(seen).toEqual(["left", "back"]);
  });

  test("does not release the seat if it arrives in time", async () => {
    const { read, wait } = world();
    const { arrive, bytes, seen } = read("jane");
    arrive();
    await bytes;
    await wait(200);
    expect(seen).toEqual([]);
  });

  test("is rejected if its user, or all users together, have too many slow bodies", async () => {
    const { read, wait } = world();
    const janes = Array.from({ length: 41 }, () => read("jane"));
    await wait(100);
    await expect(janes[40]!.bytes).rejects.toMatchObject({ code: 429 });
    const others = Array.from({ length: 200 }, (_, index) => read(`user-${index % 20}`));
    await wait(100);
    expect(others.filter(({ seen }) => seen.length > 0)).toHaveLength(160);
    for (const { arrive } of janes) arrive();
    await wait(0);
    const again = read("jane");
    await wait(100);
    expect(again.seen).toEqual(["left"]);
  });

  test("is discarded if no seat is free when it has arrived", async () => {
    const { read, wait } = world(() => Promise.reject(new Error("full")));
    const { arrive, bytes } = read("jane");
    await wait(100);
    arrive();
    await expect(bytes).rejects.toThrow("full");
  });
});
