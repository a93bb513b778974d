/** Every bound of the way to other servers. */
export interface PoolLimits {
  /** From the decision to connect until the TLS handshake is complete. */
  readonly connectTimeoutMs: number;
  /** Shorter than the time after which the server closes an idle connection, so that the server never closes first. */
  readonly idleTimeoutMs: number;
  /** Of one target. One more is closed when it becomes idle. */
  readonly idlePerTargetMax: number;
  /** To all targets together, those being made included. One more is rejected unless an idle one can make place. */
  readonly connectionsMax: number;
  /** The first TCP keep-alive probe goes out after this much silence; it finds dead servers behind quiet watches. */
  readonly tcpKeepAliveMs: number;
}

/** Peers, which are few, near, and close idle connections when this server's own listener would. */
export const UPSTREAM_LIMITS: PoolLimits = {
  connectTimeoutMs: 2_000,
  idleTimeoutMs: 90_000,
  // As many as may be in flight by default: a connection has one request at a time, and under a steady load each that
  // is closed is a handshake soon after.
  idlePerTargetMax: 400,
  connectionsMax: 8_192,
  tcpKeepAliveMs: 15_000,
};

/** Aggregated API servers and webhooks, many of which close after 90 s. */
export const OUTBOUND_LIMITS: PoolLimits = {
  connectTimeoutMs: 5_000,
  idleTimeoutMs: 60_000,
  idlePerTargetMax: 25,
  connectionsMax: 4_096,
  tcpKeepAliveMs: 15_000,
};

/** The head of an answer; our own listener accepts as much of a request. */
export const HEAD_BYTES_MAX = 64 * 1024;

export const HEADERS_MAX = 256;

/** An answer up to this size is handed on as a whole, without the cost of a stream. */
export const SMALL_ANSWER_BYTES = 64 * 1024;
