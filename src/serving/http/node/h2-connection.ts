/** Closes HTTP/2 connections: during shutdown, when they are idle, or when their client misbehaves. */
import { constants, type ServerHttp2Session, type ServerHttp2Stream } from "node:http2";

import type { ConnectionInfo } from "../message.ts";
import type { HttpLimits } from "./http-limits.ts";

export interface Http2Connection {
  readonly session: ServerHttp2Session;
  readonly info: ConnectionInfo;
  openStreams: number;
  /** True if GOAWAY has been sent, so that later streams are not handled. */
  isLeaving: boolean;
  /** Number of consecutive sweeps that have found no open stream. */
  idleSweeps: number;
  /**
   * Streams whose complete response waits for the client to read it, with the number of sweeps that have found them
   * waiting.
   */
  readonly pendingResponses: Map<ServerHttp2Stream, number>;
}

export function createConnection(session: ServerHttp2Session, info: ConnectionInfo): Http2Connection {
  return { session, info, openStreams: 0, isLeaving: false, idleSweeps: 0, pendingResponses: new Map() };
}

/**
 * Sends GOAWAY and lets the client close the connection when it has read the open responses, because Node clients lose
 * unread responses if the server closes the connection first. GOAWAY contains the ID of the last handled stream, so a
 * client that has meanwhile opened another stream learns that the server has not processed it.
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
  // Without a listener for errors, Node would end the process.
  stream.on("error", () => undefined);
  stream.close(constants.NGHTTP2_REFUSED_STREAM);
}

/** Time between the end of the last stream and the close of the connection, as in Go's server. */
const LINGER_MS = 1_000;

function closeSoon({ session }: Http2Connection): void {
  const timer = setTimeout(() => session.close(), LINGER_MS).unref();
  session.once("close", () => clearTimeout(timer));
}

/**
 * Limits the rate of pings and settings changes, each of which requires a response. Node already limits the number of
 * responses that wait to be sent, which stops a client that does not read them. This limit stops a client that reads
 * them.
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

/**
 * Closes a connection that had no open stream for the idle timeout, including one that has never sent a complete
 * request.
 */
function sweepIdle(connection: Http2Connection): void {
  connection.idleSweeps++;
  if (connection.idleSweeps > IDLE_SWEEPS) connection.session.close();
  // A client that ignores GOAWAY would keep the session forever.
  if (connection.idleSweeps > IDLE_SWEEPS + 1) connection.session.destroy();
}

/**
 * Resets streams whose response the client does not read. Otherwise a client that opens no window for its responses
 * would keep the connection open.
 */
function sweepPendingResponses({ pendingResponses }: Http2Connection, sweepsMax: number): void {
  for (const [stream, sweeps] of pendingResponses) {
    if (sweeps >= sweepsMax) breakOff(stream);
    else pendingResponses.set(stream, sweeps + 1);
  }
}

/**
 * Resets the stream with INTERNAL_ERROR. Node's `close(code)` would end the stream first, so that the client would see
 * a complete response.
 */
export function breakOff(stream: ServerHttp2Stream): void {
  stream.destroy(new Error("the response was broken off"));
}
