/**
 * HTTP/1.1 on the sockets of the listener. Node's server parses requests and frames responses. This file adds the
 * limits that Node lacks; h1-sink.ts makes streams cheaper, and h1-upgrade.ts handles upgrades, which Node leaves to
 * its user.
 */
import { createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http";
import type { Socket } from "node:net";
import type { Duplex } from "node:stream";

import type { ApiRequest, ApiResponse, ConnectionInfo, RequestBody, ResponseBody, StreamSink } from "../message.ts";
import { EMPTY_BODY } from "../request-body.ts";
import { gzipHeaders } from "../accepts-gzip.ts";
import { closedSink, discardResponse } from "../closed-sink.ts";
import { isLastResponse } from "../last-response.ts";
import { BodyReader } from "./body-reader.ts";
import { joined, SMALL_BODY_BYTES, totalBytes, writeGroups } from "./chunks.ts";
import {
  type Edge,
  ServedExchange,
  isBodiless,
  isOriginForm,
  plainText,
  type Protocol,
  splitTarget,
} from "./exchange.ts";
import { gzipped, wantsGzip } from "./gzip.ts";
import { Http1Sink } from "./h1-sink.ts";
import { canUpgrade, FRAMING_HEADERS, hasBody, lingeringEnd, UpgradeResponse } from "./h1-upgrade.ts";
import type { HttpLimits } from "./http-limits.ts";

interface Http1Connection {
  readonly info: ConnectionInfo;
  /**
   * Exchanges whose response has not been sent, in order of arrival. There are several only if the client pipelines, so
   * an array is cheaper than a Set, which allocates a new table with almost every request.
   */
  readonly exchanges: ServedExchange[];
  /** True if the connection ends after the response to the last request that has been read. */
  isLeaving: boolean;
  /** True if later requests are not handled, because no response could be sent to them. */
  takesNoMore: boolean;
  /** True if the connection has switched to another protocol. */
  isUpgraded: boolean;
}

export function createHttp1(edge: Edge): Protocol {
  const connections = new Map<Socket, Http1Connection>();
  // The upgraded protocol takes over the socket, so no other response may be pending.
  const isAlone = ({ socket }: IncomingMessage): boolean => connections.get(socket)?.exchanges.length === 0;
  const server = createNodeServer(edge.limits, (request) => canUpgrade(request) && isAlone(request));
  let isLeaving = false;

  const onRequest = (request: IncomingMessage, response: ServerResponse): void => {
    const connection = connections.get(request.socket);
    if (connection?.takesNoMore === true) return void request.resume();
    if (connection === undefined || connection.exchanges.length >= edge.limits.pipelinedRequestsMax) {
      request.socket.destroy();
      return;
    }
    // If an upgrade request is handled as an ordinary one, Node's parser may have lost the bytes after it.
    if (request.headers.upgrade !== undefined) response.shouldKeepAlive = false;
    void new Http1Exchange({ edge, connection, request, response }).run();
  };
  server.on("request", onRequest);
  // With a `checkContinue` listener, Node does not send `100 Continue`. This file sends it when the body is read.
  server.on("checkContinue", onRequest);
  server.on("upgrade", (request, _socket, head) => {
    const connection = connections.get(request.socket);
    if (connection === undefined || connection.takesNoMore) return void request.socket.destroy();
    const upgrade = new UpgradeResponse(request, head);
    void new Http1Exchange({ edge, connection, request, response: upgrade.response, upgrade }).run();
  });
  server.on("clientError", rejectUnreadable);
  // Node starts its check for slow requests on the event `listening`, which this server never emits by itself.
  server.emit("listening");

  return {
    accept(socket, info) {
      const connection: Http1Connection = {
        info,
        exchanges: [],
        isLeaving,
        takesNoMore: false,
        isUpgraded: false,
      };
      connections.set(socket, connection);
      // If several pipelined responses are pending, Node reports the close of the socket only to the first one.
      socket.once("close", () => {
        connections.delete(socket);
        for (const exchange of connection.exchanges.slice()) exchange.clientGone();
      });
      // Node's server calls `destroySoon` to end a connection after its last response. Ending at once would reset the
      // connection of a client that is still sending.
      socket.destroySoon = () => endConnection(socket, connection);
      server.emit("connection", socket);
    },
    drain() {
      isLeaving = true;
      for (const connection of connections.values()) connection.isLeaving = true;
    },
    closeIdle() {
      for (const [socket, connection] of connections) {
        if (connection.exchanges.length === 0 || connection.isUpgraded) endConnection(socket, connection);
      }
    },
    destroy() {
      // `close` passes an error to its callback, because the server never listened. It still stops timers and idle
      // sockets.
      server.close(() => undefined);
    },
  };
}

function endConnection(socket: Socket, connection: Http1Connection): void {
  connection.takesNoMore = true;
  if (!socket.writableEnded) lingeringEnd(socket);
}

/** Rejects bytes that are not a valid request. */
function rejectUnreadable(error: NodeJS.ErrnoException, stream: Duplex): void {
  if (stream.writableEnded) return;
  if (!stream.writable || error.code === "ECONNRESET") {
    stream.destroy();
    return;
  }
  const status = ERROR_STATUSES.get(error.code ?? "") ?? "400 Bad Request";
  lingeringEnd(stream, `HTTP/1.1 ${status}\r\nConnection: close\r\n\r\n`);
}

const ERROR_STATUSES: ReadonlyMap<string, string> = new Map([
  ["HPE_HEADER_OVERFLOW", "431 Request Header Fields Too Large"],
  ["ERR_HTTP_REQUEST_TIMEOUT", "408 Request Timeout"],
]);

function createNodeServer(limits: HttpLimits, shouldUpgradeCallback: (request: IncomingMessage) => boolean): Server {
  const server = createServer({
    maxHeaderSize: limits.headerBytesMax,
    headersTimeout: limits.headersTimeoutMs,
    requestTimeout: limits.requestTimeoutMs,
    connectionsCheckingInterval: Math.min(1_000, limits.headersTimeoutMs),
    keepAliveTimeout: limits.idleConnectionMs,
    optimizeEmptyRequests: true,
    // With `requireHostHeader`, Node would reject the request, and then handle the next request of the connection that
    // it has closed.
    requireHostHeader: false,
    shouldUpgradeCallback,
  });
  // One more than allowed, because Node truncates silently: a request with too many headers is detected and rejected.
  server.maxHeadersCount = limits.headerCountMax + 1;
  return server;
}

interface Http1ExchangeParts {
  readonly edge: Edge;
  readonly connection: Http1Connection;
  readonly request: IncomingMessage;
  readonly response: ServerResponse;
  /** Set if the request can be upgraded. */
  readonly upgrade?: UpgradeResponse;
}

class Http1Exchange {
  readonly #edge: Edge;
  readonly #connection: Http1Connection;
  readonly #request: IncomingMessage;
  readonly #response: ServerResponse;
  readonly #upgrade: UpgradeResponse | undefined;
  readonly #exchange: ServedExchange;
  readonly #body: BodyReader | undefined;

  constructor({ edge, connection, request, response, upgrade }: Http1ExchangeParts) {
    this.#edge = edge;
    this.#connection = connection;
    this.#request = request;
    this.#response = response;
    this.#upgrade = upgrade;
    this.#exchange = new ServedExchange(edge);
    connection.exchanges.push(this.#exchange);
    this.#body = hasBody(request) ? this.#bodyReader() : undefined;
    response.on("finish", () => this.#onFinish());
  }

  async run(): Promise<void> {
    const rejection = this.#rejection();
    const response = rejection ?? (await this.#exchange.respond(this.#apiRequest()));
    if (rejection !== undefined) this.#response.shouldKeepAlive = false;
    try {
      await this.#send(response);
    } catch (error) {
      this.#edge.log("sending a response failed", { error, status: response.status });
      if (this.#response.headersSent) this.#request.socket.destroy();
      else await this.#send(plainText(500, "Internal Server Error"));
    }
  }

  #rejection(): ApiResponse | undefined {
    const { rawHeaders, url, headers, httpVersion } = this.#request;
    if (rawHeaders.length > 2 * this.#edge.limits.headerCountMax)
      return plainText(431, "Request Header Fields Too Large");
    const hosts = hostCount(rawHeaders);
    if (hosts > 1 || (hosts === 0 && httpVersion === "1.1"))
      return plainText(400, "Bad Request: exactly one Host header is required");
    if (httpVersion !== "1.1" && headers["transfer-encoding"] !== undefined)
      return plainText(400, "Bad Request: chunked encoding requires HTTP/1.1");
    return isOriginForm(url) ? undefined : plainText(400, "Bad Request: the request target must be a path");
  }

  #apiRequest(): ApiRequest {
    const request = this.#request;
    const { path, rawQuery } = splitTarget(request.url!);
    const body: RequestBody = this.#body ?? EMPTY_BODY;
    const { info: connection } = this.#connection;
    const exchange = this.#exchange;
    return {
      method: request.method!,
      path,
      rawQuery,
      headers: request.headers,
      rawHeaders: request.rawHeaders,
      body,
      connection,
      signal: exchange.signal,
      abort: (reason) => exchange.abort(reason),
    };
  }

  #bodyReader(): BodyReader {
    const { headers } = this.#request;
    return new BodyReader({
      stream: this.#request,
      announced: headers["content-length"],
      timeoutMs: this.#edge.limits.requestTimeoutMs,
      isComplete: () => this.#request.complete,
      onRead: () => {
        if (headers.expect !== undefined && !this.#exchange.over) this.#response.writeContinue();
      },
    });
  }

  #onFinish(): void {
    const { exchanges } = this.#connection;
    const index = exchanges.indexOf(this.#exchange);
    if (index >= 0) exchanges.splice(index, 1);
    this.#exchange.finish();
    this.#body?.abandon();
    if (this.#body === undefined || this.#request.complete) return;
    // Node discards the rest of the body for a limited time. Closing at once could reset the connection before the
    // client has read the response.
    const { socket } = this.#request;
    setTimeout(() => {
      if (!this.#request.complete) socket.destroy();
    }, this.#edge.limits.unreadBodyMs).unref();
  }

  async #send(answer: ApiResponse): Promise<void> {
    const { body, status } = answer;
    const isHead = this.#request.method === "HEAD";
    // A client that has not received `100 Continue` may or may not send the body, so the start of its next request is
    // unknown.
    if (this.#body?.untouched && this.#request.headers.expect !== undefined) this.#response.shouldKeepAlive = false;
    if (this.#body?.isTooLarge) this.#response.shouldKeepAlive = false;
    if (this.#exchange.over) {
      discardResponse(answer);
    } else if (body.kind === "stream") {
      this.#sendStream(answer, body.open);
    } else if (body.kind === "upgrade") {
      await this.#switchProtocols(answer, body.open);
    } else if (body.kind === "none" || isBodiless(status)) {
      this.#sendHead(answer, isBodiless(status) ? undefined : isHead ? headLength(answer) : "0");
      this.#response.end();
    } else if (wantsGzip({ method: this.#request.method!, headers: this.#request.headers }, answer)) {
      await this.#sendGzipped(answer, body.chunks);
    } else {
      await this.#sendBytes(answer, body.chunks);
    }
  }

  #sendHead(answer: ApiResponse, contentLength: string | undefined): void {
    if (isLastResponse(answer)) this.#connection.isLeaving = true;
    if (this.#connection.isLeaving && this.#isNewest()) this.#response.shouldKeepAlive = false;
    if (!this.#response.shouldKeepAlive) this.#connection.takesNoMore = true;
    const flat: (string | string[])[] = [];
    for (const name in answer.headers) {
      if (!FRAMING_HEADERS.has(name)) flat.push(name, answer.headers[name]!);
    }
    if (contentLength !== undefined) flat.push("content-length", contentLength);
    this.#response.writeHead(answer.status, flat);
  }

  /** True if no later request is open. Responses are sent in the order of the requests, so none follows this one. */
  #isNewest(): boolean {
    return this.#connection.exchanges.at(-1) === this.#exchange;
  }

  async #sendBytes(answer: ApiResponse, chunks: readonly Buffer[]): Promise<void> {
    const response = this.#response;
    const total = totalBytes(chunks);
    this.#sendHead(answer, String(total));
    if (this.#request.method === "HEAD" || total === 0) {
      response.end();
    } else if (total <= SMALL_BODY_BYTES) {
      response.end(joined(chunks));
    } else {
      for (const group of writeGroups(chunks)) {
        response.cork();
        let more = true;
        for (const chunk of group) more = response.write(chunk);
        response.uncork();
        if (!more && !(await this.#exchange.drained(response))) return this.#cut();
      }
      response.end();
    }
  }

  async #sendGzipped(answer: ApiResponse, chunks: readonly Buffer[]): Promise<void> {
    this.#sendHead({ ...answer, headers: gzipHeaders(answer.headers) }, undefined);
    for await (const piece of gzipped(chunks)) {
      if (!this.#response.write(piece) && !(await this.#exchange.drained(this.#response))) return this.#cut();
    }
    this.#response.end();
  }

  async #switchProtocols(answer: ApiResponse, open: UpgradeOpen): Promise<void> {
    let socket: Socket | undefined;
    try {
      socket = this.#upgrade?.switchProtocols(answer.headers);
    } finally {
      // `open` must be called even if the headers of the response cannot be sent.
      if (socket === undefined) open(undefined);
    }
    if (socket !== undefined) {
      this.#connection.isUpgraded = true;
      this.#exchange.switchedProtocols();
      return open(socket);
    }
    if (this.#upgrade !== undefined) return;
    // The client continues in the other protocol, so the connection cannot be reused.
    this.#response.shouldKeepAlive = false;
    await this.#send(plainText(400, "Bad Request: this request cannot be upgraded"));
  }

  /** Destroys the connection, because the body of the response cannot be completed. */
  #cut(): void {
    this.#request.socket.destroy();
  }

  #sendStream(answer: ApiResponse, open: (sink: StreamSink) => void): void {
    this.#sendHead(answer, undefined);
    if (this.#request.method === "HEAD" || isBodiless(answer.status)) {
      this.#response.end();
      open(closedSink());
      return;
    }
    // Without this, Node would treat a body that the handler does not read as a body that does not arrive in time.
    if (this.#body?.untouched) this.#request.resume();
    this.#response.flushHeaders();
    open(new Http1Sink(this.#exchange, this.#request, this.#response));
  }
}

function hostCount(rawHeaders: readonly string[]): number {
  let hosts = 0;
  for (let index = 0; index < rawHeaders.length; index += 2) {
    const name = rawHeaders[index]!;
    if (name.length === 4 && name.toLowerCase() === "host") hosts++;
  }
  return hosts;
}

type UpgradeOpen = (ResponseBody & { readonly kind: "upgrade" })["open"];

/** The content-length of the response to a HEAD request: the one that the GET would have. */
function headLength(answer: ApiResponse): string {
  const length = answer.headers["content-length"];
  return typeof length === "string" ? length : "0";
}
