/** Every bound of the way to servers outside of the cluster's own set. */
export interface OutboundLimits {
  /** From the decision to connect until the TLS handshake is complete. */
  readonly connectTimeoutMs: number;
  /** Many servers close after 90 s or more; shorter, so that the server never closes first. */
  readonly idleTimeoutMs: number;
  readonly idlePerTargetMax: number;
  /** To all targets together, those being made included. One more is refused unless an idle one can make place. */
  readonly connectionsMax: number;
  /** The first TCP keep-alive probe goes out after this much silence; it finds dead servers behind quiet watches. */
  readonly tcpKeepAliveMs: number;
}

export const OUTBOUND_LIMITS: OutboundLimits = {
  connectTimeoutMs: 5_000,
  idleTimeoutMs: 60_000,
  idlePerTargetMax: 25,
  connectionsMax: 4_096,
  tcpKeepAliveMs: 15_000,
};
