/**
 * The timing by which servers of a cluster detect each other. Some values can be set by flags; the defaults are below.
 */
export interface PeerTiming {
  /** How often each peer is probed, and after how many failed probes in a row it is unreachable. */
  readonly probeIntervalMs: number;
  readonly probeMissesMax: number;
  /** Timeout of a probe. It may be longer than the interval, because probes overlap. */
  readonly probeTimeoutMs: number;
  /**
   * The timeout of a discovery request, the first and the longest retry interval after failures, and the refresh
   * interval after a success. The last one is the refresh interval while a document may list custom resources that have
   * just been deleted.
   */
  readonly documentTimeoutMs: number;
  readonly documentRetryMs: number;
  readonly documentRetryMsMax: number;
  readonly documentRefreshMs: number;
  readonly documentRecheckMs: number;
  /** TTL of an endpoint record, and how often it is refreshed. */
  readonly endpointTtlSeconds: number;
  readonly endpointRefreshMs: number;
  /** Duration of the identity lease, and how often it is renewed. */
  readonly leaseDurationSeconds: number;
  readonly leaseRenewMs: number;
  /**
   * A server that could not renew its lease for this long rejects writes. It is shorter than the time after which peers
   * treat the server as departed.
   */
  readonly fenceAfterMs: number;
  /** Peers wait this much longer than the lease duration, because they see renewals with a delay. */
  readonly leaseMarginMs: number;
  readonly leaseCollectIntervalMs: number;
  /** The grace period: how long resources of a departed server return 503 before they return 404. */
  readonly departedGraceMs: number;
}

/**
 * With the defaults, a crashed server is removed from merged discovery within 20 s: lease duration, margin and two
 * intervals of the collector.
 */
export const DEFAULT_PEER_TIMING: PeerTiming = {
  probeIntervalMs: 500,
  probeMissesMax: 2,
  probeTimeoutMs: 1_000,
  documentTimeoutMs: 5_000,
  documentRetryMs: 100,
  documentRetryMsMax: 30_000,
  documentRefreshMs: 60_000,
  documentRecheckMs: 500,
  endpointTtlSeconds: 15,
  endpointRefreshMs: 5_000,
  leaseDurationSeconds: 15,
  leaseRenewMs: 3_000,
  fenceAfterMs: 10_000,
  leaseMarginMs: 1_000,
  leaseCollectIntervalMs: 1_000,
  departedGraceMs: 10 * 60_000,
};

/** The settings that are flags, for messages. */
const FLAGS: Readonly<Record<string, string>> = {
  probeIntervalMs: "--peer-probe-interval",
  probeMissesMax: "--peer-probe-misses",
  endpointTtlSeconds: "--peer-endpoint-ttl",
  endpointRefreshMs: "--peer-endpoint-refresh",
  leaseDurationSeconds: "--identity-lease-duration",
  leaseRenewMs: "--identity-lease-renew-interval",
  fenceAfterMs: "--fence-after",
  departedGraceMs: "--departed-grace",
};

/** Describes the invalid settings, one sentence each; empty if there are none. */
export function timingErrors(timing: PeerTiming): string[] {
  const errors = Object.entries(timing)
    .filter(([, value]) => !Number.isSafeInteger(value) || value <= 0)
    .map(([name, value]) => `${FLAGS[name] ?? name} must be a whole number greater than zero, not ${value}`);
  const { fenceAfterMs, leaseRenewMs, leaseDurationSeconds, endpointRefreshMs, endpointTtlSeconds } = timing;
  if (leaseRenewMs * 2 >= fenceAfterMs)
    errors.push(
      "--identity-lease-renew-interval is too long: the identity lease must be renewed more than twice within --fence-after",
    );
  if (fenceAfterMs >= leaseDurationSeconds * 1000)
    errors.push(
      "--fence-after must be less than --identity-lease-duration: a server must stop writing before its peers treat it as departed",
    );
  if (endpointRefreshMs >= fenceAfterMs)
    errors.push(
      "--peer-endpoint-refresh must be less than --fence-after: a server must renew its endpoint record before it is fenced",
    );
  if (fenceAfterMs >= endpointTtlSeconds * 1000)
    errors.push(
      "--fence-after must be less than --peer-endpoint-ttl: a server must stop writing before its endpoint record expires",
    );
  if (endpointRefreshMs * 2 >= endpointTtlSeconds * 1000)
    errors.push(
      "--peer-endpoint-refresh is too long: the endpoint record must be refreshed more than twice within --peer-endpoint-ttl",
    );
  return errors;
}
