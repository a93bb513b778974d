/** All limits of connections to other servers. */
export interface PoolLimits {
  /** Time within which a connection must be made, including the TLS handshake. */
  readonly connectTimeoutMs: number;
  /**
   * Time after which an idle connection is closed. It is shorter than the idle timeout of the server, so that the
   * server never closes first.
   */
  readonly idleTimeoutMs: number;
  /** Maximum number of idle connections per target. A further one is closed when it becomes idle. */
  readonly idlePerTargetMax: number;
  /**
   * Maximum number of connections to all targets together, including those being made. A further request fails unless
   * an idle connection can be closed.
   */
  readonly connectionsMax: number;
  /** Idle time before the first TCP keep-alive probe, which detects lost servers of quiet watches. */
  readonly tcpKeepAliveMs: number;
}

/**
 * Limits for peers. Peers are few and near, and close idle connections after the same time as the listener of this
 * server.
 */
export const UPSTREAM_LIMITS: PoolLimits = {
  connectTimeoutMs: 2_000,
  idleTimeoutMs: 90_000,
  // Equal to the default number of concurrent requests to peers, because a connection serves one request at a time.
  // With fewer idle connections, a steady load would cost many handshakes.
  idlePerTargetMax: 400,
  connectionsMax: 8_192,
  tcpKeepAliveMs: 15_000,
};

/** Limits for aggregated API servers and webhooks, many of which close idle connections after 90 s. */
export const OUTBOUND_LIMITS: PoolLimits = {
  connectTimeoutMs: 5_000,
  idleTimeoutMs: 60_000,
  idlePerTargetMax: 25,
  connectionsMax: 4_096,
  tcpKeepAliveMs: 15_000,
};

/** Maximum size of the head of a response. The listener accepts as much for the head of a request. */
export const HEAD_BYTES_MAX = 64 * 1024;

export const HEADERS_MAX = 256;

/** A response up to this size is returned as bytes, without the cost of a stream. */
export const SMALL_RESPONSE_BYTES = 64 * 1024;
