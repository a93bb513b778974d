/**
 * HTTP messages as plain values, which the listener, an in-process client or the simulated network creates. A body is
 * bytes if its end is known; otherwise it is a stream.
 */
import type { X509Certificate } from "node:crypto";
import type { Duplex } from "node:stream";
import type { CommitCondition } from "../../meta/commit-condition.ts";
import type { JsonObject } from "../../meta/json.ts";
import type { AuditTrail } from "./audit-trail.ts";

export interface ApiRequest {
  /** The method in upper case. */
  readonly method: string;
  /** The path as sent (still percent-encoded), without the query. */
  readonly path: string;
  /** The query after the `?`, still encoded; empty if there is none. */
  readonly rawQuery: string;
  readonly headers: RequestHeaders;
  /**
   * The headers as sent, as alternating names and values. A header that was sent twice is listed twice. Absent if
   * `headers` is complete, as for in-process requests.
   */
  readonly rawHeaders?: readonly string[];
  readonly body: RequestBody;
  readonly connection: ConnectionInfo;
  /** Headers that filters add to the response. A header that the response sets itself takes precedence. */
  readonly responseHeaders?: ResponseHeaders;
  /** The audit record of the request. Absent until the request has an ID. */
  readonly audit?: AuditTrail;
  /** Absent if writes may be committed at any time. Only in-process callers can set it. */
  readonly condition?: CommitCondition | undefined;
  /** Aborts when the client has disconnected or the deadline has passed. */
  readonly signal: AbortSignal;
  /** Aborts the signal. Absent if the signal belongs to another request. */
  readonly abort?: (reason: unknown) => void;
}

/**
 * Header values, keyed by lower-case name. Values of a header that was sent more than once are joined with ", ", except
 * for `set-cookie`.
 */
export type RequestHeaders = Readonly<Record<string, string | string[] | undefined>>;

export interface RequestBody {
  /**
   * Reads the whole body. Rejects with a `BodyTooLargeError` as soon as the announced or received length exceeds
   * `limitBytes`; the rest is not read. May be called once.
   */
  read(limitBytes: number): Promise<Buffer>;
  /** True if no body follows the headers. */
  readonly isEmpty: boolean;
  /**
   * Returns the body as it arrives, for forwarding. Nothing is read before the caller asks for the next piece. May be
   * called once, instead of `read`.
   */
  stream(): AsyncIterable<Buffer>;
}

export class BodyTooLargeError extends Error {
  override readonly name = "BodyTooLargeError";
}

export interface ConnectionInfo {
  readonly protocol: "http/1.1" | "h2" | "in-process";
  readonly remoteAddress: string;
  /** The certificates that the client presented, leaf first. The listener has not verified them. */
  readonly clientChain: readonly X509Certificate[];
}

export interface ApiResponse {
  readonly status: number;
  readonly headers: ResponseHeaders;
  readonly body: ResponseBody;
}

/** Header values, keyed by lower-case name. */
export type ResponseHeaders = Record<string, string | string[]>;

export type ResponseBody =
  | { readonly kind: "none" }
  /** The chunks are written in order and not concatenated. The transport adds content-length. */
  | { readonly kind: "bytes"; readonly chunks: readonly Buffer[] }
  /**
   * The transport sends the headers at once. Then it calls `open` exactly once, even if the client has disconnected.
   */
  | { readonly kind: "stream"; readonly open: (sink: StreamSink) => void }
  /**
   * Only with status 101, for requests with `Connection: Upgrade` on HTTP/1.1. The transport sends the headers; then
   * client and handler exchange bytes on the socket. `open` is called exactly once, with undefined if the client has
   * disconnected.
   */
  | { readonly kind: "upgrade"; readonly open: (socket: Duplex | undefined) => void };

/** The output of a streaming response. Calls after `end`, or after the client has disconnected, have no effect. */
export interface StreamSink {
  /**
   * Always accepts the frame. Returns false if the transport buffers more than its high-water mark; it then calls
   * `onDrain` later.
   */
  write(frame: StreamFrame): boolean;
  /** Number of bytes that `write` has accepted and the client has not yet taken. It shows how slow the client reads. */
  bufferedBytes(): number;
  onDrain(callback: () => void): void;
  /** Called once when the client has disconnected or the stream has ended, whichever comes first. */
  onClose(callback: () => void): void;
  /**
   * Called when the server shuts down, so that the writer can end the stream between two events. Absent if a shutdown
   * does not end streams.
   */
  onEnding?(callback: () => void): void;
  /** Ends the response cleanly. */
  end(): void;
  /** Breaks the connection or stream, so that the client does not treat the response as complete. */
  abort(): void;
}

/** A watch event as a value. Its object is shared, so readers must not change it. */
export interface ObjectEvent {
  readonly type: "ADDED" | "MODIFIED" | "DELETED";
  readonly object: JsonObject;
}

/**
 * One piece of a stream, which may be sent to many clients. The HTTP/1.1 transport caches its chunk encoding here, and
 * `GzipSink` its compressed form, so that each frame is encoded once for all clients.
 */
export interface StreamFrame {
  readonly bytes: Buffer;
  /** The watch event that the frame contains, without managedFields. Absent if only its bytes are available. */
  readonly event?: ObjectEvent | undefined;
  chunked?: Buffer;
  gzipped?: StreamFrame;
}

export const NO_BODY: ResponseBody = { kind: "none" };

export function bytesBody(...chunks: Buffer[]): ResponseBody {
  return { kind: "bytes", chunks };
}

/** The value of a header. If it was sent several times, its values are joined. */
export function headerValue(headers: RequestHeaders, name: string): string | undefined {
  const value = headers[name];
  return Array.isArray(value) ? value.join(", ") : value;
}
