/**
 * How requests reach another server: the port that real sockets (serving/http/node/upstream/) and the simulated network implement.
 *
 * Guarantees:
 * - A request is sent at most once; nothing is retried below this line.
 * - Redirects are answers like any other; nothing is followed.
 * - The request body is taken piece by piece as the server takes it, the answer's as its reader takes it.
 * - When `signal` aborts before the answer has begun, `send` rejects with `aborted`; later, the answer's stream is broken off.
 * - Failures before the answer's headers are complete are `UpstreamError`s. After that a broken answer shows as an
 *   aborted stream, never as a complete one.
 */
import type { ResponseBody } from "./message.ts";

export interface Upstream {
  send(request: UpstreamRequest): Promise<UpstreamResponse>;
  /** Closes connections on which nothing is under way: the server is about to close them, and a request must not meet that. */
  retire(address: UpstreamAddress): void;
  /** Breaks off what is under way to this address: its server is gone or has proven unreachable. */
  disconnect(address: UpstreamAddress): void;
  close(): Promise<void>;
}

export interface UpstreamAddress {
  readonly host: string;
  readonly port: number;
}

/** "host:port", with brackets where they are needed. */
export function authorityOf({ host, port }: UpstreamAddress): string {
  return host.includes(":") ? `[${host}]:${port}` : `${host}:${port}`;
}

export interface UpstreamRequest extends UpstreamMessage {
  readonly address: UpstreamAddress;
}

/** A request, whoever it goes to. */
export interface UpstreamMessage {
  readonly method: string;
  /** Path and query exactly as they go on the wire. */
  readonly target: string;
  /** name, value, name, value, …; complete but for Host, Content-Length and what frames the body. */
  readonly headers: readonly string[];
  /** Undefined: no body. */
  readonly body: AsyncIterable<Buffer> | undefined;
  /** Of the body, when it is known. */
  readonly contentLength: number | undefined;
  /** On a connection of its own, which belongs to both ends after 101. */
  readonly isUpgrade: boolean;
  readonly signal: AbortSignal;
}

export interface UpstreamResponse {
  readonly status: number;
  /** name, value, …; without those that concern only this connection. */
  readonly headers: readonly string[];
  /** Must be opened exactly once when it is a stream or an upgrade. */
  readonly body: ResponseBody;
}

export type UpstreamFailure =
  /** No connection: refused, unreachable, no such name. */
  | "connect"
  /** No connection for want of room or descriptors here: it says nothing about the server. */
  | "exhausted"
  /** Its certificate, or ours in its eyes, was not accepted. */
  | "tls"
  /** The connection ended before an answer had begun. */
  | "reset"
  | "timeout"
  | "aborted"
  /** What came back is not HTTP, or larger than any honest answer's head. */
  | "malformed";

export class UpstreamError extends Error {
  override readonly name = "UpstreamError";
  readonly failure: UpstreamFailure;
  /** False only when the server certainly saw nothing of the request. */
  readonly isSent: boolean;
  /** The host is there, and nobody listens at the port: what its server has taken before may still be answered. */
  readonly isRefused: boolean;

  constructor(
    failure: UpstreamFailure,
    message: string,
    options: { readonly isSent: boolean; readonly isRefused?: boolean; readonly cause?: unknown },
  ) {
    super(message, { cause: options.cause });
    this.failure = failure;
    this.isSent = options.isSent;
    this.isRefused = options.isRefused ?? false;
  }
}
