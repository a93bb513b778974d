/**
 * Helpers for tests of the HTTP client that calls peers (`Upstream`): certificates, TLS servers that send scripted
 * bytes, and a TCP proxy that breaks the connection.
 */
import { once } from "node:events";
import { type AddressInfo, connect as connectTcp, createServer as createTcpServer, type Socket } from "node:net";
import { createServer as createTlsServer, type TLSSocket, type TlsOptions } from "node:tls";

import type { StreamSink } from "../../../../../src/serving/http/message.ts";
import type {
  Upstream,
  UpstreamAddress,
  UpstreamRequest,
  UpstreamResponse,
} from "../../../../../src/serving/http/upstream.ts";
import {
  createServingCertificate,
  type ServingCertificate,
} from "../../../../../src/serving/http/node/serving-certificate.ts";
import { createUpstream, type UpstreamOptions } from "../../../../../src/serving/http/node/upstream/create-upstream.ts";
import type { UpstreamTls } from "../../../../../src/serving/http/node/upstream/credentials.ts";

export const SERVER_NAME = "kubernetes.default.svc";

export interface Certificates {
  readonly server: ServingCertificate;
  readonly client: ServingCertificate;
  readonly tls: UpstreamTls;
}

export function testCertificates(): Certificates {
  const nowMs = Date.now();
  const server = createServingCertificate({ hosts: [SERVER_NAME], commonName: "peer", nowMs });
  const client = createServingCertificate({ hosts: [], commonName: "front-proxy", nowMs, usage: "clientAuth" });
  return { server, client, tls: { ca: server.caPem, cert: client.certPem, key: client.keyPem } };
}

/** The certificate of the server without that of its CA, as a program may use it for a CA bundle. */
export function leafOf({ certPem }: Pick<ServingCertificate, "certPem">): string {
  return certPem.slice(0, certPem.indexOf(END) + END.length);
}

const END = "-----END CERTIFICATE-----\n";

export interface RawServer extends AsyncDisposable {
  readonly address: UpstreamAddress;
  /** All connections with a completed handshake. */
  readonly connections: TLSSocket[];
}

/**
 * A TLS server that requires the client certificate of `certificates`. After the handshake, `onConnection` handles the
 * connection.
 */
export async function rawServer(
  certificates: Certificates,
  onConnection: (socket: TLSSocket) => void,
  options: TlsOptions = {},
): Promise<RawServer> {
  const { server: own, client } = certificates;
  const connections: TLSSocket[] = [];
  const sockets = new Set<Socket>();
  const server = createTlsServer(
    {
      cert: own.certPem,
      key: own.keyPem,
      ca: client.caPem,
      requestCert: true,
      rejectUnauthorized: true,
      ALPNProtocols: ["http/1.1"],
      ...options,
    },
    (socket) => {
      socket.on("error", () => undefined);
      connections.push(socket);
      onConnection(socket);
    },
  );
  server.on("tlsClientError", (_error, socket) => socket.destroy());
  server.on("connection", (socket: Socket) => track(sockets, socket));
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  return { address: addressOf(server.address()), connections, [Symbol.asyncDispose]: () => shut(server, sockets) };
}

/** Sends the same bytes in response to each request head. Requests must have no body. */
export function respondingWith(...pieces: readonly string[]): (socket: TLSSocket) => void {
  return onRequest((socket) => {
    for (const piece of pieces) socket.write(piece, "latin1");
  });
}

/** Calls `response` with the text of each complete request head. */
export function onRequest(response: (socket: TLSSocket, head: string) => void): (socket: TLSSocket) => void {
  return (socket) => {
    let text = "";
    socket.on("data", (bytes: Buffer) => {
      text += bytes.toString("latin1");
      for (let end = text.indexOf("\r\n\r\n"); end >= 0; end = text.indexOf("\r\n\r\n")) {
        const head = text.slice(0, end);
        text = text.slice(end + 4);
        response(socket, head);
      }
    });
  };
}

export function ok(body: string, ...headers: readonly string[]): string {
  const lines = ["HTTP/1.1 200 OK", ...headers, `Content-Length: ${Buffer.byteLength(body)}`];
  return `${lines.join("\r\n")}\r\n\r\n${body}`;
}

export type Broken = "fin" | "reset" | "stall";

export interface WireFault {
  /** The side whose bytes are counted toward `afterBytes`. */
  readonly from: "client" | "server";
  readonly afterBytes: number;
  readonly how: Broken;
  readonly onBroken: () => void;
}

/**
 * A TCP proxy to the address `to`. After `afterBytes` bytes from one side it breaks the connection as `how` says, and
 * forwards nothing more in either direction.
 */
export async function breakingWire(to: UpstreamAddress, fault: WireFault): Promise<RawServer> {
  const sockets = new Set<Socket>();
  const server = createTcpServer({ allowHalfOpen: true, noDelay: true }, (client) => {
    const target = connectTcp({ host: to.host, port: to.port, noDelay: true });
    track(sockets, client);
    track(sockets, target);
    let left = fault.afterBytes;
    const pass = (bytes: Buffer, from: WireFault["from"]): void => {
      if (left <= 0) return;
      const part = from === fault.from ? bytes.subarray(0, left) : bytes;
      (from === "client" ? target : client).write(part);
      if (from === fault.from) left -= bytes.length;
      if (left > 0) return;
      if (fault.how === "fin") client.end();
      else if (fault.how === "reset") client.resetAndDestroy();
      fault.onBroken();
    };
    client.on("data", (bytes) => pass(bytes, "client"));
    client.on("close", () => target.destroy());
    target.on("close", () => (left > 0 ? client.end() : undefined));
    target.on("data", (bytes) => pass(bytes, "server"));
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  return { address: addressOf(server.address()), connections: [], [Symbol.asyncDispose]: () => shut(server, sockets) };
}

export interface TestUpstream extends Upstream, AsyncDisposable {
  readonly logged: string[];
}

export function testUpstream(tls: UpstreamTls, options: Partial<UpstreamOptions> = {}): TestUpstream {
  const logged: string[] = [];
  const upstream = createUpstream({
    tls: () => tls,
    serverName: SERVER_NAME,
    log: (message) => void logged.push(message),
    ...options,
  });
  return { ...upstream, logged, [Symbol.asyncDispose]: () => upstream.close() };
}

export function getRequest(address: UpstreamAddress, changes: Partial<UpstreamRequest> = {}): UpstreamRequest {
  return {
    address,
    method: "GET",
    target: "/",
    headers: [],
    body: undefined,
    contentLength: undefined,
    isUpgrade: false,
    signal: new AbortController().signal,
    ...changes,
  };
}

export type Outcome =
  | { readonly kind: "complete"; readonly status: number; readonly body: string }
  | { readonly kind: "aborted"; readonly body: string };

/** Reads the response body without backpressure. Resolves to the status, the body, and whether it was complete. */
export function outcomeOf({ status, body }: UpstreamResponse): Promise<Outcome> {
  if (body.kind === "bytes") {
    return Promise.resolve({ kind: "complete", status, body: Buffer.concat(body.chunks).toString("latin1") });
  }
  if (body.kind !== "stream") return Promise.resolve({ kind: "complete", status, body: "" });
  return new Promise((resolve) => {
    const sink = new TestSink((kind, text) => resolve({ kind, status, body: text }));
    body.open(sink);
  });
}

/** A sink for a response body. The test controls its backpressure and observes its end. */
export class TestSink implements StreamSink {
  isFull = false;
  text = "";
  readonly #onOver: (kind: "complete" | "aborted", text: string) => void;
  readonly #drains: (() => void)[] = [];
  readonly #closes: (() => void)[] = [];

  constructor(onOver: (kind: "complete" | "aborted", text: string) => void = () => undefined) {
    this.#onOver = onOver;
  }

  write({ bytes }: { readonly bytes: Buffer }): boolean {
    this.text += bytes.toString("latin1");
    return !this.isFull;
  }

  bufferedBytes(): number {
    return 0;
  }

  onDrain(callback: () => void): void {
    this.#drains.push(callback);
  }

  onClose(callback: () => void): void {
    this.#closes.push(callback);
  }

  end(): void {
    this.#onOver("complete", this.text);
    this.leave();
  }

  abort(): void {
    this.#onOver("aborted", this.text);
    this.leave();
  }

  drain(): void {
    this.isFull = false;
    for (const callback of this.#drains) callback();
  }

  leave(): void {
    for (const callback of this.#closes.splice(0)) callback();
  }
}

/** Resolves when the socket has closed for any reason. */
export function closing(socket: Socket): Promise<void> {
  return new Promise((resolve) => {
    if (socket.closed) resolve();
    else socket.once("close", () => resolve());
  });
}

export function addressOf(address: AddressInfo | string | null): UpstreamAddress {
  return { host: "127.0.0.1", port: (address as AddressInfo).port };
}

export function track(sockets: Set<Socket>, socket: Socket): void {
  sockets.add(socket);
  socket.on("error", () => undefined);
  socket.on("close", () => sockets.delete(socket));
}

export async function shut(
  server: { close(callback: () => void): unknown },
  sockets: ReadonlySet<Socket>,
): Promise<void> {
  const closed = new Promise<void>((resolve) => void server.close(() => resolve()));
  for (const socket of sockets) socket.destroy();
  await closed;
}
