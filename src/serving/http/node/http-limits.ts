/** The limits that protect the listener from slow, broken and hostile clients. */

const KIB = 1024;
const MIB = 1024 * KIB;

/** All limits of the listener. Times are in milliseconds; other units are part of the name. */
export interface HttpLimits {
  /**
   * Maximum number of open sockets, including those in a handshake. Further connections are closed without a response.
   * A TLS socket costs about 75 KB.
   */
  readonly connectionsMax: number;
  /** Time to finish the TLS handshake before the client is disconnected. */
  readonly handshakeTimeoutMs: number;
  /** Idle time before the first TCP keep-alive probe, which detects disconnected clients of quiet watches. */
  readonly tcpKeepAliveMs: number;
  /**
   * Time after which a connection without an open request is closed. It is longer than the 90 s of Go clients, so that
   * these close first.
   */
  readonly idleConnectionMs: number;

  /**
   * Maximum size of all request headers together, including the URL. HTTP/1.1 returns 431, HTTP/2 rejects the stream.
   */
  readonly headerBytesMax: number;
  /**
   * Maximum number of headers of a request. Node would silently drop further headers, possibly an impersonation header.
   */
  readonly headerCountMax: number;
  /** Time within which the headers of a request must be complete, from its first byte. HTTP/1.1 returns 408. */
  readonly headersTimeoutMs: number;
  /** Time within which a request must have arrived completely. Responses, including watches, are not limited. */
  readonly requestTimeoutMs: number;
  /**
   * Time for which the rest of an unread body is discarded after the response, so that the client can read the
   * response.
   */
  readonly unreadBodyMs: number;
  /**
   * Time after which a client that reads nothing of a response body is disconnected. It does not apply to open streams,
   * such as watches.
   */
  readonly stalledResponseMs: number;
  /**
   * Maximum number of requests that an HTTP/1.1 client may send without waiting for responses. One more closes the
   * connection.
   */
  readonly pipelinedRequestsMax: number;

  /**
   * Maximum number of open streams on one HTTP/2 connection. A controller manager has hundreds of watches on one
   * connection.
   */
  readonly streamsMax: number;
  /**
   * Memory that Node may use for one HTTP/2 connection, in MiB. With Node's default of 10 MiB, streams are rejected
   * while a large list and a few hundred watches are open on one connection.
   */
  readonly sessionMemoryMib: number;
  /**
   * Bytes that a client may send on one HTTP/2 stream before the server reads them. It limits the memory of unread
   * bodies.
   */
  readonly streamWindowBytes: number;
  /**
   * Bytes that a client may send on all streams of a connection together. Node reopens this window at once, so it must
   * only be as large as the window of one stream.
   */
  readonly connectionWindowBytes: number;
  /** Number of invalid frames after which the HTTP/2 connection is closed. */
  readonly invalidFramesMax: number;
  /** Number of rejected streams after which the HTTP/2 connection is closed. */
  readonly rejectedStreamsMax: number;
  /**
   * Number of streams that a client may reset in a burst (rapid reset), in addition to `streamResetsPerSecond`. More
   * resets close the connection.
   */
  readonly streamResetBurst: number;
  /** Number of resets per second that are added to the allowance. */
  readonly streamResetsPerSecond: number;
  /**
   * Number of pings and settings changes that a client may send in a burst, in addition to `controlFramesPerSecond`.
   * More close the connection.
   */
  readonly controlFramesBurst: number;
  /** Number of pings and settings changes per second that are added to the allowance. */
  readonly controlFramesPerSecond: number;
  /** Maximum number of pings of this server that the client has not acknowledged. */
  readonly outstandingPingsMax: number;
  /** Maximum number of entries in one SETTINGS frame. */
  readonly settingsMax: number;
}

export const HTTP_LIMITS: HttpLimits = {
  connectionsMax: 10_000,
  handshakeTimeoutMs: 10_000,
  tcpKeepAliveMs: 30_000,
  idleConnectionMs: 120_000,
  headerBytesMax: 64 * KIB,
  headerCountMax: 1_000,
  headersTimeoutMs: 10_000,
  requestTimeoutMs: 300_000,
  unreadBodyMs: 5_000,
  stalledResponseMs: 120_000,
  pipelinedRequestsMax: 64,
  streamsMax: 1_000,
  sessionMemoryMib: 64,
  streamWindowBytes: 128 * KIB,
  connectionWindowBytes: MIB,
  invalidFramesMax: 100,
  rejectedStreamsMax: 100,
  streamResetBurst: 1_000,
  streamResetsPerSecond: 100,
  controlFramesBurst: 1_000,
  controlFramesPerSecond: 100,
  outstandingPingsMax: 10,
  settingsMax: 32,
};
