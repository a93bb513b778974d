/**
 * Requests to another server: the port that real sockets (serving/http/node/upstream/) and the simulated network
 * implement.
 *
 * Guarantees:
 * - A request is sent at most once; implementations never retry.
 * - A redirect is a response like any other and is not followed.
 * - The request body is read piece by piece as the server takes it, and the response body as its reader takes it.
 * - If `signal` aborts before the response has begun, `send` rejects with `aborted`; later, the response stream is
 *   broken off.
 * - A failure before the response headers are complete is an `UpstreamError`. After that, a broken response is an
 *   aborted stream, never a complete one.
 */
import type { ResponseBody } from "./message.ts";

export interface Upstream {
  send(request: UpstreamRequest): Promise<UpstreamResponse>;
  /** Closes idle connections, because the server is about to close them and a new request must not be lost with one. */
  retire(address: UpstreamAddress): void;
  /** Breaks off all requests to this address, because its server has departed or is unreachable. */
  disconnect(address: UpstreamAddress): void;
  close(): Promise<void>;
}

export interface UpstreamAddress {
  readonly host: string;
  readonly port: number;
}

/** "host:port", with brackets where they are required. */
export function authorityOf({ host, port }: UpstreamAddress): string {
  return host.includes(":") ? `[${host}]:${port}` : `${host}:${port}`;
}

export interface UpstreamRequest extends UpstreamMessage {
  readonly address: UpstreamAddress;
}

/** A request, independent of its target. */
export interface UpstreamMessage {
  readonly method: string;
  /** Path and query exactly as sent on the wire. */
  readonly target: string;
  /** name, value, name, value, …; complete except for Host, Content-Length and the headers that frame the body. */
  readonly headers: readonly string[];
  /** Undefined: no body. */
  readonly body: AsyncIterable<Buffer> | undefined;
  /** The length of the body if it is known. */
  readonly contentLength: number | undefined;
  /** The request uses its own connection, which carries the new protocol after 101. */
  readonly isUpgrade: boolean;
  readonly signal: AbortSignal;
}

export interface UpstreamResponse {
  readonly status: number;
  /** name, value, …; without headers that concern only this connection. */
  readonly headers: readonly string[];
  /** Must be opened exactly once if it is a stream or an upgrade. */
  readonly body: ResponseBody;
}

export type UpstreamFailure =
  /** No connection: refused, unreachable, or no such name. */
  | "connect"
  /** No connection because this process lacks capacity or descriptors; this implies nothing about the server. */
  | "exhausted"
  /** This server rejected the peer's certificate, or the peer rejected this server's. */
  | "tls"
  /** The connection ended before the response began. */
  | "reset"
  | "timeout"
  | "aborted"
  /** The response is not HTTP, or its head is larger than allowed. */
  | "malformed";

export class UpstreamError extends Error {
  override readonly name = "UpstreamError";
  readonly failure: UpstreamFailure;
  /** False only if the server certainly received nothing of the request. */
  readonly isSent: boolean;
  /** The host is up but no process listens at the port. Requests that its server accepted earlier may still finish. */
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
