import { expect, test } from "vitest";
import { createManualClock } from "../../../test/testing/storage/conformance/manual-clock.ts";
import { LeaseTimers } from "./lease-timers.ts";

test("a lease that is longer than the longest timer expires on time", () => {
  const clock = createManualClock();
  const expired: string[] = [];
  const timers = new LeaseTimers({ clock, expire: (lease) => expired.push(lease) });
  const yearSeconds = 365 * 24 * 3600;
  timers.start("long", yearSeconds);
  clock.advance((yearSeconds - 1) * 1000);
  expect(expired).toEqual([]);
  clock.advance(1000);
  expect(expired).toEqual(["long"]);
  expect(timers.keepAlive("long")).toBe(false);
});
