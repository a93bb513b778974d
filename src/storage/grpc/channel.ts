/**
 * gRPC over one HTTP/2 session to one endpoint: unary calls and bidirectional streams.
 *
 * A channel is not reopened: it is `opening` until the server's SETTINGS have arrived, then `ready` until it is lost.
 * `onReady` and `onLost` are called at most once each, and not after `destroy`. A channel that received GOAWAY is lost
 * for new calls, while calls in flight may still succeed.
 */
import {
  type ClientHttp2Session,
  type ClientHttp2Stream,
  type IncomingHttpHeaders,
  type SecureClientSessionOptions,
  connect,
  constants,
} from "node:http2";
import type { Clock } from "../../base/clock.ts";
import { FrameReader } from "./frames.ts";
import { SESSION_MEMORY_MEGABYTES, SESSION_WINDOW_BYTES, STREAM_WINDOW_BYTES } from "./grpc-limits.ts";
import { RpcFailure, STATUS } from "./rpc-failure.ts";
import { DecodeError } from "./wire.ts";

interface ChannelOptions {
  /** The address of the server, which is also its name in errors. */
  readonly endpoint: URL;
  /** How the connection is made, if not over TCP: for example with TLS options, or over a Unix socket. */
  readonly session: SecureClientSessionOptions;
  readonly clock: Clock;
  readonly onReady: () => void;
  readonly onLost: (reason: Error) => void;
}

export interface UnaryCall {
  readonly method: string;
  /** A whole gRPC frame. */
  readonly frame: Buffer;
}

interface StreamHandlers {
  message(message: Buffer): void;
  /** Called once, for whatever reason the stream ends, but not after `cancel`. */
  ended(failure: RpcFailure): void;
}

export interface RpcStream {
  send(frame: Buffer): void;
  cancel(): void;
}

export class Channel {
  readonly endpoint: URL;
  /** Number of responses and chunks of data received. If it grows between two reads, the server responds. */
  received = 0;
  readonly #session: ClientHttp2Session;
  readonly #clock: Clock;
  #lostReason: Error | undefined;
  #isDestroyed = false;

  constructor(options: ChannelOptions) {
    this.endpoint = options.endpoint;
    this.#clock = options.clock;
    this.#session = connect(options.endpoint, {
      ...options.session,
      settings: { enablePush: false, initialWindowSize: STREAM_WINDOW_BYTES },
      maxSessionMemory: SESSION_MEMORY_MEGABYTES,
    });
    const lose = (reason: Error): void => {
      if (this.#lostReason !== undefined) return;
      this.#lostReason = reason;
      if (!this.#isDestroyed) options.onLost(reason);
    };
    this.#session.on("connect", () => {
      // This event may arrive after the session was destroyed.
      if (!this.#session.destroyed) this.#session.setLocalWindowSize(SESSION_WINDOW_BYTES);
    });
    this.#session.once("remoteSettings", () => {
      if (this.isUsable()) options.onReady();
    });
    this.#session.on("error", lose);
    this.#session.on("goaway", (code) => lose(new Error(`the server ended the connection with code ${code}`)));
    this.#session.on("close", () => lose(new Error("the connection was closed")));
  }

  isUsable(): boolean {
    return this.#lostReason === undefined && !this.#session.closed && !this.#session.destroyed;
  }

  /** Ends all calls in flight as `lost`. Neither `onReady` nor `onLost` is called afterwards. */
  destroy(reason: string): void {
    this.#isDestroyed = true;
    this.#lostReason ??= new Error(reason);
    this.#session.destroy();
  }

  /** Makes a unary call. Also works for a streaming method that returns one message for one message. */
  unary(call: UnaryCall, timeoutMs: number): Promise<Buffer> {
    return new Promise((resolve, reject) => {
      const stream = this.#open(call.method, { "grpc-timeout": `${Math.max(1, Math.ceil(timeoutMs))}m` }, reject);
      if (stream === undefined) return;
      let response: Buffer | undefined;
      const cancelTimer = this.#clock.after(timeoutMs, () => {
        finish(new RpcFailure("deadline", `no response from ${this.endpoint.host} within ${Math.ceil(timeoutMs)} ms`));
      });
      const finish = (failure: RpcFailure | undefined): void => {
        cancelTimer();
        if (failure !== undefined) {
          reject(failure);
          stream.close(constants.NGHTTP2_CANCEL);
        } else if (response === undefined) reject(new RpcFailure("garbled", "the response has no message"));
        else resolve(response);
      };
      this.#receive(stream, {
        message: (message) => {
          response = message;
        },
        ended: finish,
      });
      stream.end(call.frame);
    });
  }

  /** Opens a stream that lasts until it is canceled or fails. */
  stream(method: string, headers: Record<string, string>, handlers: StreamHandlers): RpcStream {
    let isOver = false;
    const end = (failure: RpcFailure): void => {
      if (isOver) return;
      isOver = true;
      stream?.close(constants.NGHTTP2_CANCEL);
      handlers.ended(failure);
    };
    const stream = this.#open(method, headers, (failure) => queueMicrotask(() => end(failure)));
    if (stream !== undefined) {
      this.#receive(stream, {
        message: (message) => {
          if (!isOver) handlers.message(message);
        },
        ended: (failure) => end(failure ?? new RpcFailure("lost", "the server ended the stream")),
      });
    }
    return {
      send: (frame) => {
        if (!isOver && stream?.writable) stream.write(frame);
      },
      cancel: () => {
        isOver = true;
        stream?.close(constants.NGHTTP2_CANCEL);
      },
    };
  }

  #open(
    method: string,
    headers: Record<string, string>,
    reject: (failure: RpcFailure) => void,
  ): ClientHttp2Stream | undefined {
    if (!this.isUsable()) {
      reject(new RpcFailure("unsent", `the connection to ${this.endpoint.host} is closed`));
      return undefined;
    }
    try {
      return this.#session.request({
        [constants.HTTP2_HEADER_METHOD]: "POST",
        [constants.HTTP2_HEADER_PATH]: method,
        [constants.HTTP2_HEADER_TE]: "trailers",
        [constants.HTTP2_HEADER_CONTENT_TYPE]: "application/grpc",
        ...headers,
      });
    } catch (cause) {
      // Node throws if the session cannot accept another stream.
      reject(new RpcFailure("unsent", `the connection to ${this.endpoint.host} accepts no more requests`, { cause }));
      return undefined;
    }
  }

  #receive(
    stream: ClientHttp2Stream,
    call: { message(message: Buffer): void; ended(failure?: RpcFailure): void },
  ): void {
    const frames = new FrameReader();
    let outcome: RpcFailure | "ok" | undefined;
    let problem: unknown;
    let isOver = false;
    const end = (failure?: RpcFailure): void => {
      if (isOver) return;
      isOver = true;
      call.ended(failure);
    };
    const endWithOutcome = (): void => {
      if (outcome === undefined) return;
      if (outcome !== "ok") end(outcome);
      else end(frames.isEmpty() ? undefined : new RpcFailure("garbled", "the response ends inside a message"));
    };
    stream.on("response", (headers) => {
      this.received++;
      outcome = statusOf(headers) ?? httpProblem(headers[":status"]);
    });
    stream.on("trailers", (headers: IncomingHttpHeaders) => {
      outcome ??= statusOf(headers) ?? new RpcFailure("garbled", "the response has no gRPC status");
    });
    stream.on("data", (chunk: Buffer) => {
      this.received++;
      if (isOver || outcome instanceof RpcFailure) return;
      try {
        frames.push(chunk);
        for (let message = frames.next(); message !== undefined; message = frames.next()) call.message(message);
      } catch (thrown) {
        if (!(thrown instanceof DecodeError)) throw thrown;
        end(new RpcFailure(frames.isOversize ? "oversize" : "garbled", thrown.message, { cause: thrown }));
      }
    });
    stream.on("error", (error) => {
      problem = error;
    });
    stream.on("end", endWithOutcome);
    stream.on("close", () => {
      endWithOutcome();
      // Returns before it creates an error: a stack trace is expensive, and nearly every call has succeeded at this
      // point.
      if (isOver) return;
      const reason = problem ?? this.#lostReason;
      const detail = reason instanceof Error ? reason.message : `stream ended with code ${stream.rstCode}`;
      end(new RpcFailure("lost", `no response from ${this.endpoint.host}: ${detail}`, { cause: reason }));
    });
  }
}

/** The outcome of a call as its headers or trailers report it; undefined if they do not contain one. */
function statusOf(headers: IncomingHttpHeaders): RpcFailure | "ok" | undefined {
  const text = headers["grpc-status"];
  if (text === undefined) return undefined;
  const status = Number(text);
  if (status === STATUS.ok) return "ok";
  const message = headers["grpc-message"];
  return new RpcFailure("status", decodeMessage(typeof message === "string" ? message : "no message"), { status });
}

function httpProblem(status: number | undefined): RpcFailure | undefined {
  return status === 200 ? undefined : new RpcFailure("garbled", `HTTP status ${status} instead of a gRPC response`);
}

function decodeMessage(message: string): string {
  try {
    return decodeURIComponent(message);
  } catch {
    // The message is not percent-encoded as gRPC requires, so it is used as it is.
    return message;
  }
}
