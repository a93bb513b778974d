/** The times by which servers of a cluster know of each other. All are flags; these are their defaults. */
export interface PeerTiming {
  /** How often each peer is probed, and how many probes in a row may fail before it is out of routing. */
  readonly probeIntervalMs: number;
  readonly probeMissesMax: number;
  /** Probes overlap, so this may be longer than the interval. */
  readonly probeTimeoutMs: number;
  /** How long a peer may take to say what it serves, how soon it is asked again when it did not, and when it did. */
  readonly documentTimeoutMs: number;
  readonly documentRetryMs: number;
  readonly documentRetryMsMax: number;
  readonly documentRefreshMs: number;
  /** Life of an endpoint record without a refresh, and how often it is refreshed. */
  readonly endpointTtlSeconds: number;
  readonly endpointRefreshMs: number;
  /** As the identity lease says, and how often it is renewed. */
  readonly leaseDurationSeconds: number;
  readonly leaseRenewMs: number;
  /** A server that could not renew its lease for this long refuses writes: before others take it for dead. */
  readonly fenceAfterMs: number;
  /** Others wait this much longer than the lease says: renewals need time to be seen. */
  readonly leaseMarginMs: number;
  readonly leaseCollectIntervalMs: number;
  /** How long what a departed server served is unavailable before it is unknown. */
  readonly departedGraceMs: number;
}

/** A crashed server is out of merged discovery within 20 s: duration, margin and two intervals of the collector. */
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

/** What is wrong with these times, in sentences; an empty list means nothing. */
export function timingErrors(timing: PeerTiming): string[] {
  const errors = Object.entries(timing)
    .filter(([, value]) => !Number.isSafeInteger(value) || value <= 0)
    .map(([name, value]) => `${name} must be a whole number greater than zero, not ${value}`);
  const { fenceAfterMs, leaseRenewMs, leaseDurationSeconds, endpointRefreshMs, endpointTtlSeconds } = timing;
  if (leaseRenewMs * 2 >= fenceAfterMs)
    errors.push("the identity lease must be renewed more than twice before a server fences itself");
  if (fenceAfterMs >= leaseDurationSeconds * 1000)
    errors.push("a server must fence itself before its identity lease has run out for others");
  if (endpointRefreshMs * 2 >= endpointTtlSeconds * 1000)
    errors.push("the endpoint record must be refreshed more than twice within its life");
  return errors;
}
