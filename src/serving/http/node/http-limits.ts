const KIB = 1024;
const MIB = 1024 * KIB;

/** Every bound of the transport edge. What is measured in time is in milliseconds, the rest as named. */
export interface HttpLimits {
  /** Sockets open at once, handshakes included; one more is closed unanswered. A TLS socket costs about 75 KB. */
  readonly connectionsMax: number;
  /** A client that has not finished the TLS handshake by then is dropped. */
  readonly handshakeTimeoutMs: number;
  /** The first TCP keep-alive probe goes out after this much silence; it finds dead peers behind quiet watches. */
  readonly tcpKeepAliveMs: number;
  /** A connection without an open request is closed after this; longer than the 90 s of Go clients, so that they close first. */
  readonly idleConnectionMs: number;

  /** All request headers together, the URL included: HTTP/1.1 answers 431, HTTP/2 refuses the stream. */
  readonly headerBytesMax: number;
  /** How many headers a request may have. Node would silently drop the rest, which could be an impersonation header. */
  readonly headerCountMax: number;
  /** The headers of a request must be complete this long after its first byte (HTTP/1.1: 408). */
  readonly headersTimeoutMs: number;
  /** A request must have arrived whole by then; responses, and so watches, may last for ever. */
  readonly requestTimeoutMs: number;
  /** How long the rest of a body nobody wants is swallowed after the answer, so that the client can read that answer. */
  readonly unreadBodyMs: number;
  /** A client that takes nothing of a list for this long is cut off; streams have their own rule in the server. */
  readonly stalledResponseMs: number;
  /** Requests an HTTP/1.1 client may have sent without waiting for the answers; one more closes the connection. */
  readonly pipelinedRequestsMax: number;

  /** Streams open at once on one HTTP/2 connection: a controller manager holds hundreds of watches on one. */
  readonly streamsMax: number;
  /**
   * What Node may hold for one HTTP/2 connection, in MiB. Its own 10 MiB refuses streams while a large list
   * and a few hundred watches are under way on one connection.
   */
  readonly sessionMemoryMib: number;
  /** What a client may send on one HTTP/2 stream before the server reads: bounds the memory of unread bodies. */
  readonly streamWindowBytes: number;
  /** The same for all streams of a connection together. Node opens it again at once, it only must not be the narrower one. */
  readonly connectionWindowBytes: number;
  /** Frames that break the protocol until the HTTP/2 connection is closed. */
  readonly invalidFramesMax: number;
  /** Streams refused to one connection until it is closed. */
  readonly rejectedStreamsMax: number;
  /** Streams a client may reset at once (rapid reset); beyond, and beyond the rate, the connection is closed. */
  readonly streamResetBurst: number;
  /** Resets a second that are added to the allowance again. */
  readonly streamResetsPerSecond: number;
  /** Pings and changes of settings a client may send at once; beyond, and beyond the rate, the connection is closed. */
  readonly controlFramesBurst: number;
  /** Of them, how many a second are added to the allowance again. */
  readonly controlFramesPerSecond: number;
  /** Pings of ours that the client has not acknowledged. */
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
