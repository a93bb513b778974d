/** The timing by which servers of a cluster detect each other. All values are flags; these are the defaults. */
export interface PeerTiming {
  /** How often each peer is probed, and how many probes in a row may fail before it is unreachable. */
  readonly probeIntervalMs: number;
  readonly probeMissesMax: number;
  /** Probes overlap, so this may be longer than the interval. */
  readonly probeTimeoutMs: number;
  /**
   * The timeout of a discovery request, the retry interval after a failure, and the refresh interval after a success.
   */
  readonly documentTimeoutMs: number;
  readonly documentRetryMs: number;
  readonly documentRetryMsMax: number;
  readonly documentRefreshMs: number;
  /** TTL of an endpoint record, and how often it is refreshed. */
  readonly endpointTtlSeconds: number;
  readonly endpointRefreshMs: number;
  /** Duration of the identity lease, and how often it is renewed. */
  readonly leaseDurationSeconds: number;
  readonly leaseRenewMs: number;
  /** A server that could not renew its lease for this long rejects writes: before its peers treat it as departed. */
  readonly fenceAfterMs: number;
  /** Peers wait this much longer than the lease duration, because renewals take time to be seen. */
  readonly leaseMarginMs: number;
  readonly leaseCollectIntervalMs: number;
  /** The grace period: how long resources of a departed server return 503 before they return 404. */
  readonly departedGraceMs: number;
}

/**
 * A crashed server is removed from merged discovery within 20 s: duration, margin and two intervals of the collector.
 */
export const DEFAULT_PEER_TIMING: PeerTiming = {
  probeIntervalMs: 500,
  probeMissesMax: 2,
  probeTimeoutMs: 1_000,
  documentTimeoutMs: 5_000,
  documentRetryMs: 100,
  documentRetryMsMax: 30_000,
  documentRefreshMs: 60_000,
  endpointTtlSeconds: 15,
  endpointRefreshMs: 5_000,
  leaseDurationSeconds: 15,
  leaseRenewMs: 3_000,
  fenceAfterMs: 10_000,
  leaseMarginMs: 1_000,
  leaseCollectIntervalMs: 1_000,
  departedGraceMs: 10 * 60_000,
};

/** The invalid settings as sentences; empty if there are none. */
export function timingErrors(timing: PeerTiming): string[] {
  const errors = Object.entries(timing)
    .filter(([, value]) => !Number.isSafeInteger(value) || value <= 0)
    .map(([name, value]) => `${name} must be a whole number greater than zero, not ${value}`);
  const { fenceAfterMs, leaseRenewMs, leaseDurationSeconds, endpointRefreshMs, endpointTtlSeconds } = timing;
  if (leaseRenewMs * 2 >= fenceAfterMs)
    errors.push("the identity lease must be renewed more than twice before a server fences itself");
  if (fenceAfterMs >= leaseDurationSeconds * 1000)
    errors.push("a server must fence itself before its identity lease has expired for its peers");
  if (endpointRefreshMs * 2 >= endpointTtlSeconds * 1000)
    errors.push("the endpoint record must be refreshed more than twice within its TTL");
  return errors;
}
