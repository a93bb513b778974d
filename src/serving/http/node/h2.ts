/**
 * HTTP/2 on the sockets of the listener. It uses only Node's stream API, because with a `request` listener Node would
 * create its compatibility objects for every stream.
 */
import {
  constants,
  createServer,
  type Http2Server,
  type IncomingHttpHeaders,
  type OutgoingHttpHeaders,
  type ServerHttp2Stream,
} from "node:http2";

import type { ApiRequest, ApiResponse, ConnectionInfo, StreamFrame, RequestBody, StreamSink } from "../message.ts";
import { EMPTY_BODY } from "../request-body.ts";
import { gzipHeaders } from "../accepts-gzip.ts";
import { closedSink, discardResponse } from "../closed-sink.ts";
import { isLastResponse } from "../last-response.ts";
import { HOP_BY_HOP_HEADERS } from "../proxy-headers.ts";
import { BodyReader } from "./body-reader.ts";
import { joined, joinedGroups, SMALL_BODY_BYTES, totalBytes } from "./chunks.ts";
import {
  type Edge,
  ServedExchange,
  isBodiless,
  isOriginForm,
  plainText,
  type Protocol,
  splitTarget,
} from "./exchange.ts";
import {
  boundControlFrames,
  breakOff,
  createConnection,
  leave,
  rejectStream,
  streamClosed,
  sweep,
  sweepEvery,
  type Http2Connection,
} from "./h2-connection.ts";
import { gzipped, wantsGzip } from "./gzip.ts";
import type { HttpLimits } from "./http-limits.ts";

/** Maximum size of one write. Larger writes are not cheaper, but hold more memory per slow client. */
const WRITE_BYTES = 256 * 1024;

export function createHttp2(edge: Edge): Protocol {
  const server = createNodeServer(edge.limits);
  const connections = new Set<Http2Connection>();
  let accepting: ConnectionInfo | undefined;
  let draining = false;

  server.on("session", (session) => {
    const connection = createConnection(session, accepting!);
    connections.add(connection);
    session.setLocalWindowSize(edge.limits.connectionWindowBytes);
    boundControlFrames(session, edge.limits);
    session.on("stream", (stream, headers, flags, rawHeaders) => {
      if (connection.isLeaving) return rejectStream(stream);
      const isWhole = (flags & constants.NGHTTP2_FLAG_END_STREAM) !== 0;
      void new Http2Exchange({ edge, connection, stream, headers, rawHeaders, isWhole }).run();
    });
    session.on("close", () => connections.delete(connection));
    if (draining) leave(connection);
  });
  const sweeper = setInterval(() => sweep(connections, edge.limits), sweepEvery(edge.limits)).unref();

  return {
    accept(socket, info) {
      accepting = info;
      // This call creates the session and passes it to the listener above.
      server.emit("connection", socket);
      accepting = undefined;
    },
    drain() {
      draining = true;
      for (const connection of connections) leave(connection);
    },
    closeIdle() {
      for (const connection of connections) if (connection.openStreams === 0) leave(connection);
    },
    destroy() {
      clearInterval(sweeper);
      for (const { session } of connections) session.destroy();
    },
  };
}

function createNodeServer(limits: HttpLimits): Http2Server {
  return createServer({
    maxSessionMemory: limits.sessionMemoryMib,
    maxHeaderListPairs: limits.headerCountMax,
    maxSessionInvalidFrames: limits.invalidFramesMax,
    maxSessionRejectedStreams: limits.rejectedStreamsMax,
    maxOutstandingPings: limits.outstandingPingsMax,
    maxSettings: limits.settingsMax,
    streamResetBurst: limits.streamResetBurst,
    streamResetRate: limits.streamResetsPerSecond,
    // If this were true, nghttp2 would drop a header with a space at either end and serve the rest of the request, for
    // example without an impersonation header.
    strictFieldWhitespaceValidation: false,
    settings: {
      maxConcurrentStreams: limits.streamsMax,
      initialWindowSize: limits.streamWindowBytes,
      maxHeaderListSize: limits.headerBytesMax,
      enablePush: false,
    },
  });
}

interface Http2ExchangeParts {
  readonly edge: Edge;
  readonly connection: Http2Connection;
  readonly stream: ServerHttp2Stream;
  readonly headers: IncomingHttpHeaders;
  readonly rawHeaders: readonly string[];
  /** True if no body follows the headers. */
  readonly isWhole: boolean;
}

class Http2Exchange {
  readonly #edge: Edge;
  readonly #connection: Http2Connection;
  readonly #stream: ServerHttp2Stream;
  readonly #headers: IncomingHttpHeaders;
  readonly #rawHeaders: readonly string[];
  readonly #method: string;
  readonly #exchange: ServedExchange;
  readonly #body: BodyReader | undefined;

  constructor({ edge, connection, stream, headers, rawHeaders, isWhole }: Http2ExchangeParts) {
    this.#edge = edge;
    this.#connection = connection;
    this.#stream = stream;
    this.#headers = headers;
    this.#rawHeaders = rawHeaders;
    this.#method = headers[":method"]!;
    this.#exchange = new ServedExchange(edge);
    connection.openStreams++;
    connection.idleSweeps = 0;
    this.#body = isWhole ? undefined : this.#bodyReader();
    // `close` reports the failure. Without a listener for errors, Node would end the process.
    stream.on("error", () => undefined);
    if (stream.destroyed) this.#onClose();
    else stream.on("close", () => this.#onClose());
    if (!isWhole) stream.on("finish", () => this.#onResponded());
  }

  async run(): Promise<void> {
    const target = this.#headers[":path"];
    const response = isOriginForm(target)
      ? await this.#exchange.respond(this.#apiRequest(target))
      : plainText(400, "Bad Request: the request target must be a path");
    try {
      await this.#send(response);
    } catch (error) {
      this.#edge.log("sending a response failed", { error, status: response.status });
      if (this.#stream.headersSent) this.#cut();
      else await this.#send(plainText(500, "Internal Server Error"));
    }
    if (response.body.kind !== "stream") this.#handedOver();
  }

  readonly #handedOver = (): void => {
    if (!this.#exchange.over) this.#connection.pendingResponses.set(this.#stream, 0);
  };

  #apiRequest(target: string): ApiRequest {
    const { path, rawQuery } = splitTarget(target);
    const rawHeaders = rawWithoutPseudoHeaders(this.#rawHeaders, this.#headers);
    const headers = withoutPseudoHeaders(this.#headers);
    const body: RequestBody = this.#body ?? EMPTY_BODY;
    const { info: connection } = this.#connection;
    const exchange = this.#exchange;
    const { signal } = exchange;
    const abort = (reason: unknown): void => exchange.abort(reason);
    return { method: this.#method, path, rawQuery, headers, rawHeaders, body, connection, signal, abort };
  }

  #bodyReader(): BodyReader {
    const stream = this.#stream;
    const { expect } = this.#headers;
    return new BodyReader({
      stream,
      announced: this.#headers["content-length"],
      timeoutMs: this.#edge.limits.requestTimeoutMs,
      isComplete: () => !stream.aborted,
      onRead: () => {
        if (expect === "100-continue" && !stream.destroyed && !stream.closed)
          stream.additionalHeaders({ ":status": 100 });
      },
    });
  }

  #onClose(): void {
    streamClosed(this.#connection, this.#stream);
    if (
      this.#stream.writableFinished &&
      this.#stream.headersSent &&
      this.#stream.rstCode === constants.NGHTTP2_NO_ERROR
    ) {
      this.#exchange.finish();
    } else {
      this.#exchange.clientGone();
    }
  }

  /** Called when the response has been sent. The client may still be sending a body. */
  #onResponded(): void {
    const stream = this.#stream;
    if (stream.readableEnded || !stream.headersSent || stream.closed) return;
    this.#exchange.finish();
    this.#body?.abandon();
    const timer = setTimeout(() => stream.close(constants.NGHTTP2_NO_ERROR), this.#edge.limits.unreadBodyMs).unref();
    stream.on("close", () => clearTimeout(timer));
  }

  async #send(answer: ApiResponse): Promise<void> {
    const { body, status } = answer;
    const stream = this.#stream;
    // Discards the body. Otherwise Node would reset the stream after the response, which HTTP/2 allows but curl 7
    // treats as an error.
    if (this.#body?.untouched) stream.resume();
    if (isLastResponse(answer)) leave(this.#connection);
    if (this.#exchange.over || stream.destroyed || stream.closed) {
      discardResponse(answer);
    } else if (body.kind === "stream") {
      this.#sendStream(answer, body.open);
    } else if (body.kind === "upgrade") {
      discardResponse(answer);
      await this.#send(plainText(501, "Not Implemented: upgrades require HTTP/1.1"));
    } else if (body.kind === "none" || isBodiless(status)) {
      stream.respond(responseHeaders(answer, isBodiless(status) ? undefined : "0"), { endStream: true });
    } else if (wantsGzip({ method: this.#method, headers: this.#headers }, answer)) {
      await this.#sendGzipped(answer, body.chunks);
    } else {
      await this.#sendBytes(answer, body.chunks);
    }
  }

  async #sendBytes(answer: ApiResponse, chunks: readonly Buffer[]): Promise<void> {
    const stream = this.#stream;
    const total = totalBytes(chunks);
    const headers = responseHeaders(answer, String(total));
    if (this.#method === "HEAD" || total === 0) {
      stream.respond(headers, { endStream: true });
    } else if (total <= SMALL_BODY_BYTES) {
      stream.respond(headers);
      stream.end(joined(chunks));
    } else {
      stream.respond(headers);
      for (const group of joinedGroups(chunks, WRITE_BYTES)) {
        if (stream.writableEnded) return;
        if (!stream.write(group) && !(await this.#exchange.drained(stream))) return this.#cut();
      }
      stream.end();
    }
  }

  async #sendGzipped(answer: ApiResponse, chunks: readonly Buffer[]): Promise<void> {
    const stream = this.#stream;
    stream.respond(responseHeaders({ ...answer, headers: gzipHeaders(answer.headers) }, undefined));
    for await (const piece of gzipped(chunks)) {
      if (stream.writableEnded) return;
      if (!stream.write(piece) && !(await this.#exchange.drained(stream))) return this.#cut();
    }
    stream.end();
  }

  #cut(): void {
    breakOff(this.#stream);
  }

  #sendStream(answer: ApiResponse, open: (sink: StreamSink) => void): void {
    const isEmpty = this.#method === "HEAD" || isBodiless(answer.status);
    this.#stream.respond(responseHeaders(answer, undefined), { endStream: isEmpty });
    open(isEmpty ? closedSink() : new Http2Sink(this.#exchange, this.#stream, this.#handedOver));
  }
}

class Http2Sink implements StreamSink {
  readonly #exchange: ServedExchange;
  readonly #stream: ServerHttp2Stream;
  readonly #onEnd: () => void;

  constructor(exchange: ServedExchange, stream: ServerHttp2Stream, onEnd: () => void) {
    this.#exchange = exchange;
    this.#stream = stream;
    this.#onEnd = onEnd;
  }

  write(frame: StreamFrame): boolean {
    if (this.#isClosed() || frame.bytes.length === 0) return true;
    this.#exchange.frameWritten();
    return this.#stream.write(frame.bytes);
  }

  bufferedBytes(): number {
    return this.#stream.writableLength;
  }

  onDrain(callback: () => void): void {
    this.#stream.on("drain", () => this.#exchange.call(callback));
  }

  onClose(callback: () => void): void {
    this.#exchange.onOver(callback);
  }

  end(): void {
    if (this.#isClosed()) return;
    this.#stream.end();
    this.#onEnd();
  }

  abort(): void {
    if (!this.#exchange.over) breakOff(this.#stream);
  }

  /**
   * True if the stream is closed or about to close: Node ends a stream that the client has reset some time before it
   * closes the stream.
   */
  #isClosed(): boolean {
    return this.#exchange.over || this.#stream.writableEnded || this.#stream.destroyed;
  }
}

/** Headers that HTTP/2 forbids. They come from handlers that expect HTTP/1.1, and from servers that use HTTP/1.1. */
const CONNECTION_HEADERS: ReadonlySet<string> = new Set([...HOP_BY_HOP_HEADERS, "content-length"]);

function responseHeaders(answer: ApiResponse, contentLength: string | undefined): OutgoingHttpHeaders {
  const headers: OutgoingHttpHeaders = { ":status": answer.status };
  for (const name in answer.headers) {
    if (!CONNECTION_HEADERS.has(name)) headers[name] = answer.headers[name];
  }
  if (contentLength !== undefined) headers["content-length"] = contentLength;
  return headers;
}

/** Removes the pseudo-headers, which come first: nghttp2 rejects streams with another order. */
function rawWithoutPseudoHeaders(rawHeaders: readonly string[], headers: IncomingHttpHeaders): readonly string[] {
  let start = 0;
  while (rawHeaders[start]?.startsWith(":")) start += 2;
  const rest = rawHeaders.slice(start);
  const authority = headers[":authority"];
  if (headers.host === undefined && authority !== undefined) rest.push("host", authority);
  return rest;
}

/** Deletes the pseudo-headers in place. The object belongs to this exchange, and Node does not read it again. */
function withoutPseudoHeaders(headers: IncomingHttpHeaders): IncomingHttpHeaders {
  headers.host ??= headers[":authority"];
  delete headers[":authority"];
  delete headers[":method"];
  delete headers[":path"];
  delete headers[":scheme"];
  delete headers[":protocol"];
  return headers;
}
