import { describe, expect, test } from "vitest";

import { DroppedRequests } from "./dropped-requests.ts";
import { infoRequest } from "../../../test/testing/serving/http/requests.ts";
import type { PriorityLevel } from "./priority-level.ts";
import { currentLimits, fairProportion, seatLimits, type SeatClaim } from "./seat-allocation.ts";
import { SeatDemand } from "./seat-demand.ts";
import { estimatedSeats, seatsMaxOf } from "./work-estimate.ts";

const level = (shares: number, rest: Partial<PriorityLevel> = {}): PriorityLevel => ({
  name: "a",
  uid: "",
  isExempt: false,
  shares,
  lendablePercent: 0,
  borrowingLimitPercent: undefined,
  queuing: undefined,
  ...rest,
});

describe("seats", () => {
  test("are divided by concurrency shares, with limits for lending and borrowing", () => {
    const levels = [level(5), level(100, { lendablePercent: 90 }), level(0, { isExempt: true })];
    expect(seatLimits([...levels, level(20, { borrowingLimitPercent: 50 })], 600)).toEqual([
      { nominal: 24, lower: 24, upper: 624 },
      { nominal: 480, lower: 48, upper: 1080 },
      { nominal: 0, lower: 0, upper: 600 },
      { nominal: 96, lower: 96, upper: 144 },
    ]);
    expect(seatLimits([level(0)], 600)[0]!.nominal).toBe(0);
  });

  const claim = (nominal: number, lower: number, upper: number, asked: number): SeatClaim => ({
    isExempt: false,
    limits: { nominal, lower, upper },
    demand: { highWatermark: asked, smoothed: asked },
  });

  test("are lent by idle levels to busy levels", () => {
    const [busy, idle] = currentLimits([claim(50, 50, 150, 200), claim(50, 5, 150, 0)]);
    expect([busy! + idle!, idle! < 10, busy! > 90]).toEqual([100, true, true]);
  });

  test("of a level that may lend all of them shrink to one, and of a level without nominal seats to none", () => {
    expect(currentLimits([claim(99, 99, 200, 200), claim(1, 0, 100, 0), claim(0, 0, 0, 5)])).toEqual([100, 1, 0]);
    const exempt: SeatClaim = { ...claim(0, 0, 100, 90), isExempt: true };
    expect(currentLimits([exempt, claim(50, 50, 100, 50), claim(1, 0, 100, 0)])).toEqual([90, 50, 1]);
  });

  test("stay within the demand and the upper limit of each level", () => {
    expect(currentLimits([claim(50, 5, 150, 200), claim(50, 5, 150, 200)])).toEqual([50, 50]);
    expect(currentLimits([claim(50, 50, 60, 200), claim(50, 5, 150, 0)])[0]).toBe(60);
  });

  test("of exempt requests reduce the seats of other levels, down to the lower limit of each", () => {
    const exempt: SeatClaim = { ...claim(0, 0, 100, 90), isExempt: true };
    expect(currentLimits([exempt, claim(50, 20, 100, 50), claim(50, 20, 100, 50)])).toEqual([90, 20, 20]);
    const some: SeatClaim = { ...claim(0, 0, 100, 30), isExempt: true };
    expect(currentLimits([some, claim(50, 20, 100, 50), claim(50, 20, 100, 50)])).toEqual([30, 35, 35]);
  });

  test("are allocated completely by one proportion of the targets, within the bounds", () => {
    const items = [
      { lower: 5, upper: 10, target: 10 },
      { lower: 0, upper: 100, target: 20 },
      { lower: 30, upper: 100, target: 30 },
    ];
    for (const seats of [36, 45, 60, 90, 150, 200]) {
      const proportion = fairProportion(items, seats);
      const given = items.map(({ lower, upper, target }) => Math.max(lower, Math.min(upper, proportion * target)));
      expect(given.reduce((sum, part) => sum + part, 0)).toBeCloseTo(seats, 6);
    }
    expect(fairProportion([], 5)).toBe(0);
  });
});

describe("seat demand", () => {
  test("rises at once and falls slowly", () => {
    const demand = new SeatDemand(0);
    demand.set(40, 0);
    demand.set(0, 10_000);
    expect(demand.take(10_000)).toEqual({ highWatermark: 40, smoothed: 40 });
    expect(demand.take(20_000)).toEqual({ highWatermark: 0, smoothed: 40 * 0.977 });
    expect(demand.take(310_000).smoothed).toBeCloseTo(20, 0);
  });
});

describe("Retry-After", () => {
  test("doubles while many requests are rejected, and decreases while few are rejected", () => {
    const dropped = new DroppedRequests();
    const atSecond = (second: number, count: number): number => {
      let said = 0;
      for (let index = 0; index < count; index++) said = dropped.drop(second * 1_000 + index);
      return said;
    };
    expect(atSecond(100, 1)).toBe(1);
    expect(atSecond(101, 10)).toBe(1);
    expect(atSecond(102, 10)).toBe(2);
    for (let second = 103; second < 200; second++) atSecond(second, 200);
    expect(atSecond(200, 1)).toBe(32);
    expect(atSecond(300, 1)).toBe(31);
  });
});

describe("the number of seats of a request", () => {
  const stats = { count: 1_000, averageBytes: 2_000 };
  test.each([
    ["/api/v1/pods", 10],
    ["/api/v1/pods?limit=100", 2],
    ["/api/v1/pods?limit=x", 20],
    ["/api/v1/pods?fieldSelector=metadata.name%3Dx", 1],
    ["/api/v1/pods?watch=1", 10],
    ["/api/v1/pods?watch=1&resourceVersion=5", 1],
    ["/api/v1/pods?watch=1&resourceVersion=5&sendInitialEvents=true", 10],
    ["/api/v1/namespaces/a/pods/x", 1],
    ["/version", 1],
  ])("for %s is %i", (url, seats) => {
    expect(estimatedSeats(infoRequest({ url }), 20, () => stats)).toBe(seats);
  });

  test("is limited by its priority level, and is 1 if the resource is not stored", () => {
    expect(estimatedSeats(infoRequest({ url: "/api/v1/pods" }), 3, () => stats)).toBe(3);
    expect(estimatedSeats(infoRequest({ url: "/apis/x.io/v1/things" }), 3, () => undefined)).toBe(1);
    expect([seatsMaxOf(49, 6), seatsMaxOf(245, 6), seatsMaxOf(4, 6), seatsMaxOf(1, undefined)]).toEqual([
      8, 37, 1, 100,
    ]);
  });
});
