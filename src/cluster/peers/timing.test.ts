import { describe, expect, test } from "vitest";
import { DEFAULT_PEER_TIMING, timingErrors } from "./timing.ts";

describe("timing", () => {
  test("the default values are consistent", () => {
    expect(timingErrors(DEFAULT_PEER_TIMING)).toEqual([]);
  });

  test("by default a crashed server is removed from merged discovery within 20 s", () => {
    const { leaseDurationSeconds, leaseMarginMs, leaseCollectIntervalMs } = DEFAULT_PEER_TIMING;
    expect(leaseDurationSeconds * 1000 + leaseMarginMs + 2 * leaseCollectIntervalMs).toBeLessThan(20_000);
  });

  test.each([
    [
      { leaseRenewMs: 5_000 },
      "leaseRenewMs is too long: the identity lease must be renewed more than twice within fenceAfterMs",
    ],
    [
      { fenceAfterMs: 15_000, endpointTtlSeconds: 20 },
      "fenceAfterMs must be less than leaseDurationSeconds: a server must stop writing before its peers treat it as departed",
    ],
    [
      { endpointRefreshMs: 8_000 },
      "endpointRefreshMs is too long: the endpoint record must be refreshed more than twice within endpointTtlSeconds",
    ],
    [
      { fenceAfterMs: 12_000, endpointTtlSeconds: 12 },
      "fenceAfterMs must be less than endpointTtlSeconds: a server must stop writing before its endpoint record expires",
    ],
    [
      { endpointRefreshMs: 10_000, endpointTtlSeconds: 30 },
      "endpointRefreshMs must be less than fenceAfterMs: a server must renew its endpoint record before it is fenced",
    ],
    [{ probeIntervalMs: 0 }, "probeIntervalMs must be a whole number greater than zero, not 0"],
    [{ leaseMarginMs: NaN }, "leaseMarginMs must be a whole number greater than zero, not NaN"],
    [{ endpointTtlSeconds: 15.5 }, "endpointTtlSeconds must be a whole number greater than zero, not 15.5"],
  ])("%o is rejected", (change, sentence) => {
    expect(timingErrors({ ...DEFAULT_PEER_TIMING, ...change })).toEqual([sentence]);
  });
});
