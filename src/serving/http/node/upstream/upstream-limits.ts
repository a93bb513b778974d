/** Every limit of connections to other servers. */
export interface PoolLimits {
  /** From the decision to connect until the TLS handshake is complete. */
  readonly connectTimeoutMs: number;
  /** Shorter than the time after which the server closes an idle connection, so that the server never closes first. */
  readonly idleTimeoutMs: number;
  /** Idle connections per target. One more is closed when it becomes idle. */
  readonly idlePerTargetMax: number;
  /**
   * Connections to all targets together, including those being made. One more is rejected unless an idle one can be
   * closed.
   */
  readonly connectionsMax: number;
  /** Silence before the first TCP keep-alive probe, which detects lost servers behind quiet watches. */
  readonly tcpKeepAliveMs: number;
}

/**
 * Limits for peers. They are few and near, and close idle connections after the same time as this server's own
 * listener.
 */
export const UPSTREAM_LIMITS: PoolLimits = {
  connectTimeoutMs: 2_000,
  idleTimeoutMs: 90_000,
  // The default number of requests in flight: a connection serves one request at a time, and under a steady load each
  // closed connection soon costs another handshake.
  idlePerTargetMax: 400,
  connectionsMax: 8_192,
  tcpKeepAliveMs: 15_000,
};

/** Limits for aggregated API servers and webhooks, many of which close after 90 s. */
export const OUTBOUND_LIMITS: PoolLimits = {
  connectTimeoutMs: 5_000,
  idleTimeoutMs: 60_000,
  idlePerTargetMax: 25,
  connectionsMax: 4_096,
  tcpKeepAliveMs: 15_000,
};

/** The head of a response; the listener accepts as much of a request. */
export const HEAD_BYTES_MAX = 64 * 1024;

export const HEADERS_MAX = 256;

/** A response up to this size is passed on as a whole, without the cost of a stream. */
export const SMALL_RESPONSE_BYTES = 64 * 1024;
