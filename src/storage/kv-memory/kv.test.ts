import { describe, expect, test } from "vitest";
import { Recorder, create, describeEvent, put } from "../../../test/testing/storage/conformance/kv-fixture.ts";
import { kvSuite } from "../../../test/testing/storage/conformance/kv-suite.ts";
import { createManualClock } from "../../../test/testing/storage/conformance/manual-clock.ts";
import type { Kv } from "../kv.ts";
import { createMemoryKv, createMemoryStore } from "./kv.ts";

kvSuite(
  "the memory store",
  async () => {
    const clock = createManualClock();
    const store = createMemoryStore({ clock });
    const handles: Kv[] = [store.open()];
    return {
      kv: handles[0]!,
      advance: clock.advance,
      reopen: async () => {
        handles.push(store.open());
        return handles.at(-1)!;
      },
      [Symbol.asyncDispose]: async () => {
        for (const handle of handles) await handle.close();
      },
    };
  },
  { isExclusive: true },
);

describe("the memory store", () => {
  test("delivers a change to watches before it acknowledges the commit", async () => {
    const kv = createMemoryKv({ clock: createManualClock() });
    const recorder = Recorder.start(kv, { prefix: "/a/", fromRevision: 2 });
    const revision = await create(kv, "/a/x");
    expect(recorder.all.map((event) => describeEvent(event, "/a/"))).toEqual([`put x@${revision}`]);
    expect(recorder.progressRevisions.at(-1)).toBe(revision);
  });

  test("has revision 1 when it is empty", async () => {
    expect(await createMemoryKv({ clock: createManualClock() }).currentRevision()).toBe(1);
  });

  test("shares data, revisions and leases between its handles", async () => {
    const clock = createManualClock();
    const store = createMemoryStore({ clock });
    const [left, right] = [store.open(), store.open()];
    const recorder = Recorder.start(right, { prefix: "/a/", fromRevision: 2 });
    const lease = await left.leaseGrant(5);
    const revision = await put(left, { key: "/a/x", value: "x", expectedRevision: 0, lease });
    expect(await right.currentRevision()).toBe(revision);
    await left.close();
    clock.advance(5000);
    expect(recorder.all.map((event) => describeEvent(event, "/a/"))).toEqual([
      `put x@${revision}`,
      `delete x@${revision + 1}`,
    ]);
  });

  test("cancels its lease timers when its only handle is closed", async () => {
    const clock = createManualClock();
    const kv = createMemoryKv({ clock });
    await kv.leaseGrant(5);
    await kv.close();
    clock.advance(10_000);
  });

  test("ends a watch whose sink throws, but no other watch", async () => {
    const kv = createMemoryKv({ clock: createManualClock() });
    const closings: string[] = [];
    const noop = (): void => {};
    const events = (): void => {
      throw new Error("broken");
    };
    kv.watch(
      { prefix: "/a/", fromRevision: 2 },
      { events, progress: noop, interrupted: noop, closed: (error) => closings.push(error.code) },
    );
    const recorder = Recorder.start(kv, { prefix: "/a/", fromRevision: 2 });
    await create(kv, "/a/x");
    await create(kv, "/a/y");
    expect(closings).toEqual(["unavailable"]);
    expect(recorder.all).toHaveLength(2);
  });
});
