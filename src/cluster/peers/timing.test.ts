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
      "--identity-lease-renew-interval is too long: the identity lease must be renewed more than twice within --fence-after",
    ],
    [
      { fenceAfterMs: 15_000, endpointTtlSeconds: 20 },
      "--fence-after must be less than --identity-lease-duration: a server must stop writing before its peers treat it as departed",
    ],
    [
      { endpointRefreshMs: 8_000 },
      "--peer-endpoint-refresh is too long: the endpoint record must be refreshed more than twice within --peer-endpoint-ttl",
    ],
    [
      { fenceAfterMs: 12_000, endpointTtlSeconds: 12 },
      "--fence-after must be less than --peer-endpoint-ttl: a server must stop writing before its endpoint record expires",
    ],
    [
      { endpointRefreshMs: 10_000, endpointTtlSeconds: 30 },
      "--peer-endpoint-refresh must be less than --fence-after: a server must renew its endpoint record before it is fenced",
    ],
    [{ probeIntervalMs: 0 }, "--peer-probe-interval must be a whole number greater than zero, not 0"],
    [{ leaseMarginMs: NaN }, "leaseMarginMs must be a whole number greater than zero, not NaN"],
    [{ endpointTtlSeconds: 15.5 }, "--peer-endpoint-ttl must be a whole number greater than zero, not 15.5"],
  ])("%o is rejected", (change, sentence) => {
    expect(timingErrors({ ...DEFAULT_PEER_TIMING, ...change })).toEqual([sentence]);
  });
});
