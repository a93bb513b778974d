import { describe, expect, test } from "vitest";
import { DEFAULT_PEER_TIMING, timingErrors } from "./timing.ts";

describe("timing", () => {
  test("the defaults fit together", () => {
    expect(timingErrors(DEFAULT_PEER_TIMING)).toEqual([]);
  });

  test("by default a crashed server is out of merged discovery within 20 s", () => {
    const { leaseDurationSeconds, leaseMarginMs, leaseCollectIntervalMs } = DEFAULT_PEER_TIMING;
    expect(leaseDurationSeconds * 1000 + leaseMarginMs + 2 * leaseCollectIntervalMs).toBeLessThan(20_000);
  });

  test.each([
    [{ leaseRenewMs: 5_000 }, "the identity lease must be renewed more than twice before a server fences itself"],
    [{ fenceAfterMs: 15_000 }, "a server must fence itself before its identity lease has expired for its peers"],
    [{ endpointRefreshMs: 8_000 }, "the endpoint record must be refreshed more than twice within its TTL"],
    [{ probeIntervalMs: 0 }, "probeIntervalMs must be a whole number greater than zero, not 0"],
    [{ leaseMarginMs: NaN }, "leaseMarginMs must be a whole number greater than zero, not NaN"],
    [{ endpointTtlSeconds: 15.5 }, "endpointTtlSeconds must be a whole number greater than zero, not 15.5"],
  ])("%o is rejected", (change, sentence) => {
    expect(timingErrors({ ...DEFAULT_PEER_TIMING, ...change })).toEqual([sentence]);
  });
});
