/**
 * The port for requests to another server. serving/http/node/upstream/ and the simulated network implement it.
 *
 * Guarantees:
 * - A request is sent at most once; implementations never retry.
 * - A redirect is returned like any other response and is not followed.
 * - The request body is read only as fast as the server accepts it, and the response body only as fast as its reader
 *   takes it.
 * - If `signal` aborts before the response has begun, `send` rejects with `aborted`. If it aborts later, the response
 *   stream is broken off.
 * - A failure before the response headers are complete is an `UpstreamError`. After that, a broken response is an
 *   aborted stream, never a complete one.
 */
import type { ResponseBody } from "./message.ts";

export interface Upstream {
  send(request: UpstreamRequest): Promise<UpstreamResponse>;
  /** Closes idle connections to a server that will soon close them itself, so that no new request is lost on them. */
  retire(address: UpstreamAddress): void;
  /** Breaks off all requests to this address, because its server has departed or is unreachable. */
  disconnect(address: UpstreamAddress): void;
  close(): Promise<void>;
}

export interface UpstreamAddress {
  readonly host: string;
  readonly port: number;
}

/** "host:port", with brackets around an IPv6 address. */
export function authorityOf({ host, port }: UpstreamAddress): string {
  return host.includes(":") ? `[${host}]:${port}` : `${host}:${port}`;
}

export interface UpstreamRequest extends UpstreamMessage {
  readonly address: UpstreamAddress;
}

/** A request without the address of its server. */
export interface UpstreamMessage {
  readonly method: string;
  /** Path and query exactly as sent. */
  readonly target: string;
  /** Alternating names and values. Host, Content-Length and the headers that frame the body are not among them. */
  readonly headers: readonly string[];
  /** The body; undefined for none. */
  readonly body: AsyncIterable<Buffer> | undefined;
  /** The length of the body if it is known. */
  readonly contentLength: number | undefined;
  /**
   * True if the request asks for an upgrade. It uses a connection of its own, which carries the new protocol after 101.
   */
  readonly isUpgrade: boolean;
  readonly signal: AbortSignal;
}

export interface UpstreamResponse {
  readonly status: number;
  /** Alternating names and values, without headers that concern only this connection. */
  readonly headers: readonly string[];
  /** A stream or an upgrade must be opened exactly once. */
  readonly body: ResponseBody;
}

export type UpstreamFailure =
  /** No connection: refused, unreachable, or the name cannot be resolved. */
  | "connect"
  /** No connection, because this process lacks capacity or file descriptors. This says nothing about the server. */
  | "exhausted"
  /**
   * This server rejected the certificate of the called server, or the called server rejected this server's certificate.
   */
  | "tls"
  /** The connection ended before the response began. */
  | "reset"
  | "timeout"
  | "aborted"
  /** The response is not valid HTTP or is too large, or the request has parts that cannot be sent. */
  | "malformed";

interface UpstreamErrorOptions {
  readonly isSent: boolean;
  readonly isRefused?: boolean;
  readonly timeoutMs?: number;
  readonly isOfEgressProxy?: boolean;
  readonly cause?: unknown;
}

export class UpstreamError extends Error {
  override readonly name = "UpstreamError";
  readonly failure: UpstreamFailure;
  /** False only if the server certainly has received nothing of the request. */
  readonly isSent: boolean;
  /**
   * True if the host is up but no process listens at the port. Requests that its server accepted earlier may still
   * finish.
   */
  readonly isRefused: boolean;
  /** Set with `timeout`: how long the request waited, in ms. */
  readonly timeoutMs: number | undefined;
  /** True if the egress proxy, not the server behind it, caused the failure. */
  readonly isOfEgressProxy: boolean;

  constructor(failure: UpstreamFailure, message: string, options: UpstreamErrorOptions) {
    super(message, { cause: options.cause });
    this.failure = failure;
    this.isSent = options.isSent;
    this.isRefused = options.isRefused ?? false;
    this.timeoutMs = options.timeoutMs;
    this.isOfEgressProxy = options.isOfEgressProxy ?? false;
  }
}
