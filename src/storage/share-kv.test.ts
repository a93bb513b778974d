import { expect, test } from "vitest";
import {
  Recorder,
  create,
  describeEvent,
  expectStorageError,
  put,
} from "../../test/testing/storage/conformance/kv-fixture.ts";
import { kvSuite } from "../../test/testing/storage/conformance/kv-suite.ts";
import { createManualClock } from "../../test/testing/storage/conformance/manual-clock.ts";
import { createMemoryKv } from "./kv-memory/kv.ts";
import { shareKv } from "./share-kv.ts";

kvSuite(
  "a handle of a shared store",
  async () => {
    const clock = createManualClock();
    const kv = createMemoryKv({ clock });
    const shared = shareKv(kv);
    return {
      kv: shared.open(),
      advance: clock.advance,
      reopen: async () => shared.open(),
      [Symbol.asyncDispose]: () => kv.close(),
    };
  },
  { isExclusive: true },
);

test("closing one handle does not end the other handles, their watches, or the leases that it granted", async () => {
  const clock = createManualClock();
  const kv = createMemoryKv({ clock });
  const shared = shareKv(kv);
  const [left, right] = [shared.open(), shared.open()];
  const recorder = Recorder.start(right, { prefix: "/a/", fromRevision: 2 });
  const lease = await left.leaseGrant(5);
  const revision = await put(left, { key: "/a/x", value: "x", expectedRevision: 0, lease });
  await left.close();
  await expectStorageError(create(left, "/a/y"), "unavailable");
  clock.advance(5000);
  expect(recorder.all.map((event) => describeEvent(event, "/a/"))).toEqual([
    `put x@${revision}`,
    `delete x@${revision + 1}`,
  ]);
  expect(recorder.closings).toEqual([]);
  await kv.close();
});

test("closing the store ends the watches of its handles", async () => {
  const kv = createMemoryKv({ clock: createManualClock() });
  const recorder = Recorder.start(shareKv(kv).open(), { prefix: "/a/", fromRevision: 2 });
  await kv.close();
  expect(await recorder.closing()).toMatchObject({ code: "unavailable" });
});
