/**
 * HTTP messages as the whole server sees them: plain values that a socket, an in-process client or a
 * simulated network can make. Bodies are bytes where they can be; a stream is only what has no end yet.
 */
import type { X509Certificate } from "node:crypto";
import type { Duplex } from "node:stream";
import type { AuditTrail } from "./audit-trail.ts";

export interface ApiRequest {
  /** Upper case, as sent. */
  readonly method: string;
  /** The path as sent (still percent-encoded), without the query. */
  readonly path: string;
  /** What follows the `?`, still encoded; empty when there is none. */
  readonly rawQuery: string;
  readonly headers: RequestHeaders;
  /**
   * The headers as sent: name, value, name, value, …; a header sent twice stands there twice. Absent when `headers` says
   * it all, as it does for requests that never were on a wire.
   */
  readonly rawHeaders?: readonly string[];
  readonly body: RequestBody;
  readonly connection: ConnectionInfo;
  /** What filters want the answer to say, unless it says something else itself. Added when it leaves the chain. */
  readonly answerHeaders?: ResponseHeaders;
  /** What is told of the request to whoever keeps a record. Absent where it has no ID yet. */
  readonly audit?: AuditTrail;
  /** Aborts when the client is gone, or when a deadline filter says so. */
  readonly signal: AbortSignal;
  /** Aborts it. Absent where the signal is somebody else's. */
  readonly abort?: (reason: unknown) => void;
}

/** Keys are lower case. A header sent more than once is joined with ", " except `set-cookie`-like lists. */
export type RequestHeaders = Readonly<Record<string, string | string[] | undefined>>;

export interface RequestBody {
  /**
   * The whole body. Rejects with a `BodyTooLargeError` as soon as more than `limitBytes` have been
   * announced or have arrived; the rest is not read. May be called once.
   */
  read(limitBytes: number): Promise<Buffer>;
  /** Nothing follows the headers. */
  readonly isEmpty: boolean;
  /** The body as it arrives, instead of `read`, for who hands it on: nothing is read ahead of the loop. May be called once. */
  stream(): AsyncIterable<Buffer>;
}

export class BodyTooLargeError extends Error {
  override readonly name = "BodyTooLargeError";
}

export interface ConnectionInfo {
  readonly protocol: "http/1.1" | "h2" | "in-process";
  readonly remoteAddress: string;
  /** The certificates the client presented, leaf first. Nobody has vouched for them yet: that is for authentication. */
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
  /** Written in order without being copied together; the transport adds content-length. */
  | { readonly kind: "bytes"; readonly chunks: readonly Buffer[] }
  /** The transport sends the headers at once, then calls `open` exactly once, also when the client has gone. */
  | { readonly kind: "stream"; readonly open: (sink: StreamSink) => void }
  /**
   * With status 101: the transport sends the headers, then both ends talk bytes. Only for requests that asked for it by
   * `Connection: Upgrade` on HTTP/1.1. `open` is called exactly once, with undefined when the client has gone.
   */
  | { readonly kind: "upgrade"; readonly open: (socket: Duplex | undefined) => void };

/** Where a streaming response writes. All calls after `end` or after the client has gone are harmless. */
export interface StreamSink {
  /** Always accepts; false means the transport holds more than its mark and `onDrain` will be called. */
  write(frame: StreamFrame): boolean;
  /** Bytes accepted by `write` that the client has not taken yet: how slow the reader is. */
  bufferedBytes(): number;
  onDrain(callback: () => void): void;
  /** Called once when the client has gone or the stream has ended, whoever came first. */
  onClose(callback: () => void): void;
  /** Called when the server leaves: whoever writes the stream ends it where it can be ended. Absent where nobody will ask. */
  onEnding?(callback: () => void): void;
  /** Ends the response cleanly. */
  end(): void;
  /** Breaks the connection or stream: the reader must not take what it has for complete. */
  abort(): void;
}

/**
 * One piece of a stream that may go to many readers. The transport may keep its own framing of it
 * here (HTTP/1.1 chunk), so that framing, too, happens once however many readers there are.
 */
export interface StreamFrame {
  readonly bytes: Buffer;
  chunked?: Buffer;
}

export const NO_BODY: ResponseBody = { kind: "none" };

export function bytesBody(...chunks: Buffer[]): ResponseBody {
  return { kind: "bytes", chunks };
}

/** The header's value; of one sent several times, all values joined. */
export function headerValue(headers: RequestHeaders, name: string): string | undefined {
  const value = headers[name];
  return Array.isArray(value) ? value.join(", ") : value;
}
