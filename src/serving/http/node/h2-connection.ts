/**
 * Decides when an HTTP/2 connection is closed: during shutdown, when it is idle, or when its client
 * misbehaves.
 */
import { constants, type ServerHttp2Session, type ServerHttp2Stream } from "node:http2";

import type { ConnectionInfo } from "../message.ts";
import type { HttpLimits } from "./http-limits.ts";

export interface Http2Connection {
  readonly session: ServerHttp2Session;
  readonly info: ConnectionInfo;
  openStreams: number;
  /** GOAWAY has been sent: later streams are not handled. */
  isLeaving: boolean;
  /** Consecutive sweeps that found no open stream. */
  idleSweeps: number;
  /**
   * Streams whose complete response waits for the client to take it, with the number of sweeps that found them waiting.
   */
  readonly pendingResponses: Map<ServerHttp2Stream, number>;
}

export function createConnection(session: ServerHttp2Session, info: ConnectionInfo): Http2Connection {
  return { session, info, openStreams: 0, isLeaving: false, idleSweeps: 0, pendingResponses: new Map() };
}

/**
 * Sends GOAWAY and lets the client close the connection when it has read the open responses: Node clients lose unread
 * responses if the server closes it first. GOAWAY names the last stream that was handled, so a client that has opened
 * another one meanwhile knows that the server did not process it.
 */
export function leave(connection: Http2Connection): void {
  if (connection.isLeaving || connection.session.destroyed) return;
  connection.isLeaving = true;
  connection.session.goaway(constants.NGHTTP2_NO_ERROR);
  if (connection.openStreams === 0) closeSoon(connection);
}

export function streamClosed(connection: Http2Connection, stream: ServerHttp2Stream): void {
  connection.openStreams--;
  connection.pendingResponses.delete(stream);
  if (connection.isLeaving && connection.openStreams === 0) closeSoon(connection);
}

export function rejectStream(stream: ServerHttp2Stream): void {
  // Without a listener, Node would end the process.
  stream.on("error", () => undefined);
  stream.close(constants.NGHTTP2_REFUSED_STREAM);
}

/** The same time that Go's server waits. */
const LINGER_MS = 1_000;

function closeSoon({ session }: Http2Connection): void {
  const timer = setTimeout(() => session.close(), LINGER_MS).unref();
  session.once("close", () => clearTimeout(timer));
}

/**
 * Limits pings and settings changes, each of which requires a response. Node bounds the responses that wait to be sent,
 * which stops a client that does not read them; this stops a client that does.
 */
export function boundControlFrames(session: ServerHttp2Session, limits: HttpLimits): void {
  let left = limits.controlFramesBurst;
  let sinceMs = performance.now();
  const onFrame = (): void => {
    if (--left >= 0) return;
    const nowMs = performance.now();
    left = Math.floor(((nowMs - sinceMs) / 1_000) * limits.controlFramesPerSecond);
    left = Math.min(left, limits.controlFramesBurst) - 1;
    sinceMs = nowMs;
    if (left >= 0 || session.destroyed) return;
    session.destroy(new Error("too many pings or settings"), constants.NGHTTP2_ENHANCE_YOUR_CALM);
  };
  session.on("ping", onFrame);
  session.on("remoteSettings", onFrame);
}

/** Number of sweeps within the idle timeout. */
const IDLE_SWEEPS = 4;

export function sweepEvery({ idleConnectionMs }: HttpLimits): number {
  return idleConnectionMs / IDLE_SWEEPS;
}

export function sweep(connections: Iterable<Http2Connection>, limits: HttpLimits): void {
  const pendingSweepsMax = Math.ceil(limits.stalledResponseMs / sweepEvery(limits));
  for (const connection of connections) {
    if (connection.openStreams === 0) sweepIdle(connection);
    else sweepPendingResponses(connection, pendingSweepsMax);
  }
}

/** Also ends connections that never sent a complete request, because they have no open stream either. */
function sweepIdle(connection: Http2Connection): void {
  connection.idleSweeps++;
  if (connection.idleSweeps > IDLE_SWEEPS) connection.session.close();
  // A client that does not react to GOAWAY would keep the session forever.
  if (connection.idleSweeps > IDLE_SWEEPS + 1) connection.session.destroy();
}

/** A client that opens no window for its responses would keep their streams, and thus the connection, open. */
function sweepPendingResponses({ pendingResponses }: Http2Connection, sweepsMax: number): void {
  for (const [stream, sweeps] of pendingResponses) {
    if (sweeps >= sweepsMax) breakOff(stream);
    else pendingResponses.set(stream, sweeps + 1);
  }
}

/**
 * Resets the stream with INTERNAL_ERROR. Node's `close(code)` does not work here: it ends the stream first, so the
 * client sees a complete response.
 */
export function breakOff(stream: ServerHttp2Stream): void {
  stream.destroy(new Error("the response was broken off"));
}
