/**
 * HTTP messages as the whole server sees them: plain values that a socket, an in-process client or a simulated network
 * can create. Bodies are bytes where possible; only a response without a known end is a stream.
 */
import type { X509Certificate } from "node:crypto";
import type { Duplex } from "node:stream";
import type { AuditTrail } from "./audit-trail.ts";

export interface ApiRequest {
  /** Upper case, as sent. */
  readonly method: string;
  /** The path as sent (still percent-encoded), without the query. */
  readonly path: string;
  /** The part after the `?`, still encoded; empty if there is none. */
  readonly rawQuery: string;
  readonly headers: RequestHeaders;
  /**
   * The headers as sent: name, value, name, value, …; a header sent twice is listed twice. Absent if `headers` is
   * complete, as it is for in-process requests.
   */
  readonly rawHeaders?: readonly string[];
  readonly body: RequestBody;
  readonly connection: ConnectionInfo;
  /** Headers that filters add to the response when it leaves the chain, unless the response sets them itself. */
  readonly responseHeaders?: ResponseHeaders;
  /** The audit record of the request. Absent until the request has an ID. */
  readonly audit?: AuditTrail;
  /** Aborts when the client has gone or the deadline has passed. */
  readonly signal: AbortSignal;
  /** Aborts the signal. Absent if this request does not own its signal. */
  readonly abort?: (reason: unknown) => void;
}

/** Keys are lower case. A header sent more than once is joined with ", " except `set-cookie`-like lists. */
export type RequestHeaders = Readonly<Record<string, string | string[] | undefined>>;

export interface RequestBody {
  /**
   * Reads the whole body. Rejects with a `BodyTooLargeError` as soon as more than `limitBytes` have been announced or
   * have arrived; the rest is not read. May be called once.
   */
  read(limitBytes: number): Promise<Buffer>;
  /** True if no body follows the headers. */
  readonly isEmpty: boolean;
  /**
   * The body as it arrives, as an alternative to `read` for forwarding it. Nothing is read ahead of the loop. May be
   * called once.
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

/** Keys are lower case. */
export type ResponseHeaders = Record<string, string | string[]>;

export type ResponseBody =
  | { readonly kind: "none" }
  /** Written in order without being concatenated; the transport adds content-length. */
  | { readonly kind: "bytes"; readonly chunks: readonly Buffer[] }
  /** The transport sends the headers at once, then calls `open` exactly once, even if the client has gone. */
  | { readonly kind: "stream"; readonly open: (sink: StreamSink) => void }
  /**
   * With status 101: the transport sends the headers, then both ends exchange bytes. Only for requests with
   * `Connection: Upgrade` on HTTP/1.1. `open` is called exactly once, with undefined if the client has gone.
   */
  | { readonly kind: "upgrade"; readonly open: (socket: Duplex | undefined) => void };

/** The output of a streaming response. All calls after `end` or after the client has gone are harmless. */
export interface StreamSink {
  /**
   * Always accepts the frame. False means that the transport buffers more than its high-water mark and will call
   * `onDrain`.
   */
  write(frame: StreamFrame): boolean;
  /** Bytes that `write` accepted and the client has not taken yet: a measure of how slow the reader is. */
  bufferedBytes(): number;
  onDrain(callback: () => void): void;
  /** Called once when the client has gone or the stream has ended, whichever comes first. */
  onClose(callback: () => void): void;
  /**
   * Called when the server shuts down, so that the writer ends the stream at a suitable point. Absent where no shutdown
   * ends streams.
   */
  onEnding?(callback: () => void): void;
  /** Ends the response cleanly. */
  end(): void;
  /** Breaks the connection or stream, so that the reader does not treat the response as complete. */
  abort(): void;
}

/**
 * One piece of a stream that may go to many readers. The transport may cache its own framing of it here (HTTP/1.1
 * chunk), so that framing also happens once, however many readers there are.
 */
export interface StreamFrame {
  readonly bytes: Buffer;
  chunked?: Buffer;
}

export const NO_BODY: ResponseBody = { kind: "none" };

export function bytesBody(...chunks: Buffer[]): ResponseBody {
  return { kind: "bytes", chunks };
}

/** The value of a header; if it was sent several times, all values joined. */
export function headerValue(headers: RequestHeaders, name: string): string | undefined {
  const value = headers[name];
  return Array.isArray(value) ? value.join(", ") : value;
}
