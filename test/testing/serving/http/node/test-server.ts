/** An HTTPS listener on 127.0.0.1 with its own certificate, and clients for it. */
import {
  connect as connectHttp2,
  type ClientHttp2Session,
  type ClientHttp2Stream,
  type OutgoingHttpHeaders,
} from "node:http2";
import { Agent, request as httpsRequest } from "node:https";
import type { ClientRequest, IncomingHttpHeaders, IncomingMessage } from "node:http";
import type { Writable } from "node:stream";
import { connect as connectTls, type TLSSocket } from "node:tls";
import { once } from "node:events";

import {
  type ApiRequest,
  type ApiResponse,
  bytesBody,
  type StreamSink,
} from "../../../../../src/serving/http/message.ts";
import { listen, type Listener, type ListenOptions } from "../../../../../src/serving/http/node/listener.ts";
import {
  createServingCertificate,
  type ServingCertificate,
} from "../../../../../src/serving/http/node/serving-certificate.ts";

export type Handle = (request: ApiRequest) => Promise<ApiResponse>;

export interface TestServer extends AsyncDisposable {
  readonly listener: Listener;
  readonly certificate: ServingCertificate;
  readonly logged: string[];
}

export function testCertificate(): ServingCertificate {
  return createServingCertificate({ hosts: ["127.0.0.1", "localhost"], commonName: "edge-test", nowMs: Date.now() });
}

export async function startServer(handle: Handle, options: Partial<ListenOptions> = {}): Promise<TestServer> {
  const certificate = testCertificate();
  const logged: string[] = [];
  const listener = await listen({
    host: "127.0.0.1",
    port: 0,
    tls: { cert: certificate.certPem, key: certificate.keyPem },
    handle,
    log: (message) => void logged.push(message),
    ...options,
  });
  return { listener, certificate, logged, [Symbol.asyncDispose]: () => listener.close(0) };
}

export function ok(...chunks: Buffer[]): ApiResponse {
  return { status: 200, headers: { "content-type": "application/json" }, body: bytesBody(...chunks) };
}

export function streaming(open: (sink: StreamSink) => void): ApiResponse {
  return { status: 200, headers: { "content-type": "application/json" }, body: { kind: "stream", open } };
}

export interface TestResponse {
  readonly status: number;
  readonly headers: IncomingHttpHeaders;
  readonly body: Buffer;
  /** Local port of the client's connection, which identifies it; only for HTTP/1.1. */
  readonly localPort: number | undefined;
}

export interface Ask {
  readonly method?: string;
  readonly path: string;
  readonly headers?: Record<string, string | string[]>;
  readonly body?: Buffer;
}

/** A POST whose body the test writes to `stream`. */
export interface Upload {
  readonly stream: Writable;
  readonly answer: Promise<TestResponse>;
}

export interface Client extends AsyncDisposable {
  ask(ask: Ask): Promise<TestResponse>;
  upload(path: string): Upload;
}

/** A client with one keep-alive connection. */
export function http1Client(server: TestServer): Client & { readonly agent: Agent } {
  const agent = new Agent({ keepAlive: true, maxSockets: 1, ca: server.certificate.caPem });
  return {
    agent,
    async ask({ method = "GET", path, headers = {}, body }) {
      const request = httpsRequest({ agent, host: "127.0.0.1", port: server.listener.port, method, path, headers });
      request.end(body);
      return http1Answer(request);
    },
    upload(path) {
      const request = httpsRequest({ agent, host: "127.0.0.1", port: server.listener.port, method: "POST", path });
      request.on("error", () => undefined).flushHeaders();
      return { stream: request, answer: http1Answer(request) };
    },
    async [Symbol.asyncDispose]() {
      agent.destroy();
    },
  };
}

export function http2Session(server: TestServer): ClientHttp2Session & AsyncDisposable {
  const session = connectHttp2(`https://127.0.0.1:${server.listener.port}`, { ca: server.certificate.caPem });
  session.on("error", () => undefined);
  return Object.assign(session, {
    async [Symbol.asyncDispose]() {
      session.destroy();
    },
  });
}

export function http2Client(server: TestServer): Client & { readonly session: ClientHttp2Session } {
  const session = http2Session(server);
  return {
    session,
    async ask({ method = "GET", path, headers = {}, body }) {
      const stream = session.request(
        { ":method": method, ":path": path, ...headers },
        { endStream: body === undefined },
      );
      if (body !== undefined) stream.end(body);
      return http2Answer(stream);
    },
    upload(path) {
      const stream = session.request({ ":method": "POST", ":path": path });
      stream.on("error", () => undefined);
      return { stream, answer: http2Answer(stream) };
    },
    [Symbol.asyncDispose]: () => session[Symbol.asyncDispose](),
  };
}

async function http1Answer(request: ClientRequest): Promise<TestResponse> {
  const [response] = (await once(request, "response")) as [IncomingMessage];
  const localPort = response.socket.localPort;
  return { status: response.statusCode!, headers: response.headers, body: await collect(response), localPort };
}

async function http2Answer(stream: ClientHttp2Stream): Promise<TestResponse> {
  const received = await http2Response(stream);
  return { ...received, body: await collect(stream), localPort: undefined };
}

export async function http2Response(
  stream: ClientHttp2Stream,
): Promise<{ status: number; headers: IncomingHttpHeaders }> {
  const [headers] = (await once(stream, "response")) as [OutgoingHttpHeaders & IncomingHttpHeaders];
  return { status: Number(headers[":status"]), headers };
}

/** A raw TLS connection, for malformed requests. */
export async function rawConnection(server: TestServer, alpn: string): Promise<TLSSocket> {
  const options = {
    host: "127.0.0.1",
    port: server.listener.port,
    ca: server.certificate.caPem,
    ALPNProtocols: [alpn],
  };
  const socket = connectTls(options);
  socket.on("error", () => undefined);
  await once(socket, "secureConnect");
  return socket;
}

/** All bytes that the server sends until it closes the connection. */
export async function untilClosed(socket: TLSSocket): Promise<string> {
  let text = "";
  socket.on("data", (chunk: Buffer) => (text += chunk.toString("latin1")));
  if (!socket.closed) await once(socket, "close");
  return text;
}

export async function collect(source: AsyncIterable<Buffer>): Promise<Buffer> {
  const chunks: Buffer[] = [];
  for await (const chunk of source) chunks.push(chunk);
  return Buffer.concat(chunks);
}

export function deferred<T = void>(): { promise: Promise<T>; resolve: (value: T) => void } {
  const { promise, resolve } = Promise.withResolvers<T>();
  return { promise, resolve };
}
