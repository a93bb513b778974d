const KIB = 1024;
const MIB = 1024 * KIB;

/** Every limit of the listener. Times are in milliseconds, other units are part of the name. */
export interface HttpLimits {
  /** Open sockets, handshakes included; one more is closed without a response. A TLS socket costs about 75 KB. */
  readonly connectionsMax: number;
  /** Time to finish the TLS handshake before the client is disconnected. */
  readonly handshakeTimeoutMs: number;
  /** Silence before the first TCP keep-alive probe, which detects lost clients behind quiet watches. */
  readonly tcpKeepAliveMs: number;
  /**
   * Time after which a connection without an open request is closed; longer than the 90 s of Go clients, so that they
   * close first.
   */
  readonly idleConnectionMs: number;

  /** All request headers together, including the URL: HTTP/1.1 responds with 431, HTTP/2 rejects the stream. */
  readonly headerBytesMax: number;
  /**
   * Maximum number of headers of a request. Node would silently drop the rest, which could include an impersonation
   * header.
   */
  readonly headerCountMax: number;
  /** Time from the first byte of a request until its headers must be complete (HTTP/1.1: 408). */
  readonly headersTimeoutMs: number;
  /** Time until a request must have arrived completely; responses, and so watches, are not limited. */
  readonly requestTimeoutMs: number;
  /**
   * Time for which the rest of an unread body is discarded after the response, so that the client can read that
   * response.
   */
  readonly unreadBodyMs: number;
  /**
   * Time after which a client that takes nothing of a list is disconnected; streams have their own rule in the server.
   */
  readonly stalledResponseMs: number;
  /** Requests that an HTTP/1.1 client may send without waiting for responses; one more closes the connection. */
  readonly pipelinedRequestsMax: number;

  /** Open streams on one HTTP/2 connection: a controller manager holds hundreds of watches on one. */
  readonly streamsMax: number;
  /**
   * Memory that Node may use for one HTTP/2 connection, in MiB. Node's default of 10 MiB rejects streams while a large
   * list and a few hundred watches are open on one connection.
   */
  readonly sessionMemoryMib: number;
  /**
   * Bytes that a client may send on one HTTP/2 stream before the server reads them: limits the memory of unread bodies.
   */
  readonly streamWindowBytes: number;
  /**
   * The same for all streams of a connection together. Node reopens this window at once, so it only must not be smaller
   * than the one of a stream.
   */
  readonly connectionWindowBytes: number;
  /** Invalid frames after which the HTTP/2 connection is closed. */
  readonly invalidFramesMax: number;
  /** Rejected streams after which the HTTP/2 connection is closed. */
  readonly rejectedStreamsMax: number;
  /**
   * Streams that a client may reset in a burst (rapid reset) before `streamResetsPerSecond` applies; more close the
   * connection.
   */
  readonly streamResetBurst: number;
  /** Resets added to the allowance per second. */
  readonly streamResetsPerSecond: number;
  /**
   * Pings and settings changes that a client may send in a burst before `controlFramesPerSecond` applies; more close
   * the connection.
   */
  readonly controlFramesBurst: number;
  /** Pings and settings changes added to the allowance per second. */
  readonly controlFramesPerSecond: number;
  /** Pings of this server that the client has not acknowledged. */
  readonly outstandingPingsMax: number;
  /** Entries in one SETTINGS frame. */
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
