/**
 * The listener: one TLS port that serves HTTP/2 and HTTP/1.1, and turns requests into `ApiRequest`s. It contains
 * nothing specific to Kubernetes. A misbehaving client affects only its own connection.
 */
import { constants, X509Certificate } from "node:crypto";
import type { AddressInfo, Socket } from "node:net";
import {
  createSecureContext,
  createServer,
  type DetailedPeerCertificate,
  type SecureContextOptions,
  type Server,
  type TLSSocket,
} from "node:tls";

import type { ApiRequest, ApiResponse, ConnectionInfo } from "../message.ts";
import type { Edge, Protocol } from "./exchange.ts";
import { createHttp1 } from "./h1.ts";
import { createHttp2 } from "./h2.ts";
import { HTTP_LIMITS, type HttpLimits } from "./http-limits.ts";
import { NamedContexts, type ContextOf, type NamedKeyPair } from "./named-contexts.ts";
import { StreamFlush } from "./stream-flush.ts";

export interface ListenOptions {
  readonly host: string;
  /** 0 selects a free port. */
  readonly port: number;
  readonly tls: ListenTls;
  readonly handle: (request: ApiRequest) => Promise<ApiResponse>;
  readonly log: (message: string, detail?: object) => void;
  readonly limits?: Partial<HttpLimits>;
  /** Whether the listener offers only HTTP/1.1. Default false. */
  readonly isHttp2Disabled?: boolean;
  /** Whether other processes may listen on the same port (SO_REUSEPORT). Default false. */
  readonly isPortShared?: boolean;
}

/** Restrictions of the TLS handshake. Each of them is as strict as OpenSSL's default if it is absent. */
export interface TlsSettings {
  /** Default TLSv1.2. */
  readonly minVersion?: "TLSv1.2" | "TLSv1.3";
  /** Cipher suites, with the names of OpenSSL, separated by colons. */
  readonly ciphers?: string;
  /** Key exchange groups, with the names of OpenSSL, separated by colons. */
  readonly curves?: string;
}

export interface ListenTls extends TlsSettings {
  readonly cert: string | Buffer;
  readonly key: string | Buffer;
  /**
   * Certificates that are used instead of `cert` for their names. A listener that was started without them never uses
   * them.
   */
  readonly named?: readonly NamedKeyPair[];
  /**
   * The CAs that may have signed client certificates, for all purposes together. Without it, the listener requests no
   * client certificate; with it, client certificates are optional.
   */
  readonly clientCa?: string | Buffer;
}

export interface Listener {
  readonly host: string;
  readonly port: number;
  /**
   * From now on, HTTP/1.1 responses have Connection: close; everything else continues. Call it well before `close`, so
   * that most clients have left their connections by then: closing an idle connection can race with a request on it.
   */
  announceEnd(): void;
  /**
   * Stops accepting connections. HTTP/2 sessions receive GOAWAY, and HTTP/1.1 responses have Connection: close. Open
   * requests continue.
   */
  stopAccepting(): void;
  /**
   * Waits until the last request has ended or the deadline (ms) has passed. Then ends idle and upgraded connections and
   * destroys the others. A request that arrives after that is not read, even if its client has not yet seen the end of the
   * connection.
   */
  close(deadlineMs: number): Promise<void>;
  /** Sets the certificates for new connections. Throws if they cannot be used, and keeps the current ones. */
  setTls(tls: ListenTls): void;
  /** Number of open requests, without those whose connection has switched to another protocol. */
  openRequests(): number;
  /** Number of open connections, including handshakes in progress. */
  openConnections(): number;
}

/**
 * If no request arrives for this time, the shutdown assumes that none is in flight; a busy client would have sent one.
 */
const QUIET_MS = 250;
/** Maximum duration of this wait, however many requests arrive. */
const QUIET_MS_MAX = 2_000;

/** Time that clients have to read the response to the last request before their sockets are destroyed. */
const LAST_BYTES_MS = 1_000;

/**
 * Rejects with Node's error if it cannot listen on the port. Its `code` is the reason, such as EADDRINUSE or EACCES.
 */
export function listen(options: ListenOptions): Promise<Listener> {
  const limits = { ...HTTP_LIMITS, ...options.limits };
  const secured = createTlsServer(options, limits);
  const { server } = secured;
  return new Promise((resolve, reject) => {
    server.once("error", reject);
    const { host, port, isPortShared: reusePort = false } = options;
    server.listen({ host, port, reusePort }, () => {
      server.off("error", reject);
      server.on("error", (error: Error) => options.log("accepting a connection failed", { error }));
      resolve(createListener(secured, { ...options, limits }));
    });
  });
}

interface TlsServer {
  readonly server: Server;
  readonly named: NamedContexts | undefined;
}

function createTlsServer({ tls, isHttp2Disabled }: ListenOptions, limits: HttpLimits): TlsServer {
  // Without names, Node need not call back in each handshake.
  const named = tls.named === undefined ? undefined : new NamedContexts(tls.named, contextOf(tls));
  const server = createServer({
    ...secureContext(tls),
    ...(named === undefined ? {} : { SNICallback: named.choose }),
    requestCert: tls.clientCa !== undefined,
    rejectUnauthorized: false,
    ALPNProtocols: isHttp2Disabled === true ? ["http/1.1"] : ["h2", "http/1.1"],
    handshakeTimeout: limits.handshakeTimeoutMs,
    noDelay: true,
    keepAlive: true,
    keepAliveInitialDelay: limits.tcpKeepAliveMs,
  });
  server.maxConnections = limits.connectionsMax;
  return { server, named };
}

function secureContext({ cert, key, clientCa, minVersion, ciphers, curves }: ListenTls): SecureContextOptions {
  return {
    cert,
    key,
    minVersion: minVersion ?? "TLSv1.2",
    ...(ciphers === undefined ? {} : { ciphers }),
    ...(curves === undefined ? {} : { ecdhCurve: curves }),
    // Sessions are not resumed, because a resumed session has only the leaf of the client's chain and treats it as
    // verified.
    ...(clientCa === undefined ? {} : { ca: clientCa, secureOptions: constants.SSL_OP_NO_TICKET }),
  };
}

function contextOf(tls: ListenTls): ContextOf {
  return ({ cert, key }) => createSecureContext(secureContext({ ...tls, cert, key }));
}

function setTls({ server, named }: TlsServer, tls: ListenTls): void {
  named?.replace(tls.named ?? [], contextOf(tls));
  server.setSecureContext(secureContext(tls));
  // Node reads this property for every connection but has no method to set it.
  Object.assign(server, { requestCert: tls.clientCa !== undefined });
}

function createListener(secured: TlsServer, options: ListenOptions & { readonly limits: HttpLimits }): Listener {
  const { server } = secured;
  const load = new Load();
  const edge: Edge = {
    ...options,
    streams: new StreamFlush(),
    requestOpened: () => load.requestOpened(),
    requestClosed: () => load.requestClosed(),
  };
  const http1 = createHttp1(edge);
  const http2 = createHttp2(edge);
  const protocols: readonly Protocol[] = [http1, http2];
  let stopped = false;

  server.on("connection", (socket: Socket) => load.add(socket));
  // Node's https server does this too. A plain TLS server leaves the socket of a failed handshake open.
  server.on("tlsClientError", (_error, socket) => socket.destroy());
  server.on("secureConnection", (socket) => {
    // The protocols handle errors only while they own the socket.
    socket.on("error", () => undefined);
    const protocol = socket.alpnProtocol === "h2" ? http2 : http1;
    protocol.accept(socket, connectionInfo(socket));
  });

  const stopAccepting = (): void => {
    if (stopped) return;
    stopped = true;
    server.close();
    for (const protocol of protocols) protocol.drain();
  };

  const address = server.address() as AddressInfo;
  return {
    host: address.address,
    port: address.port,
    announceEnd: () => http1.drain(),
    stopAccepting,
    async close(deadlineMs) {
      stopAccepting();
      await load.until(() => load.requests === 0, deadlineMs);
      await load.untilQuiet(Math.min(QUIET_MS_MAX, deadlineMs));
      for (const protocol of protocols) protocol.closeIdle();
      if (load.requests === 0) await load.until(() => load.sockets.size === 0, Math.min(LAST_BYTES_MS, deadlineMs));
      for (const protocol of protocols) protocol.destroy();
      for (const socket of load.sockets) socket.destroy();
      await load.until(() => load.sockets.size === 0, LAST_BYTES_MS);
    },
    setTls: (tls) => setTls(secured, tls),
    openRequests: () => load.requests,
    openConnections: () => load.sockets.size,
  };
}

/** Counts open requests and connections, and waits for them to end. */
class Load {
  requests = 0;
  /** Number of requests since the start. */
  #requestsOpened = 0;
  readonly sockets = new Set<Socket>();
  readonly #checks = new Set<() => void>();

  requestOpened(): void {
    this.requests++;
    this.#requestsOpened++;
  }

  requestClosed(): void {
    this.requests--;
    this.#check();
  }

  add(socket: Socket): void {
    this.sockets.add(socket);
    socket.once("close", () => {
      this.sockets.delete(socket);
      this.#check();
    });
  }

  /**
   * Resolves when no request is open and none has arrived for a while, when no client is connected, or after the
   * timeout.
   */
  async untilQuiet(timeoutMs: number): Promise<void> {
    for (let leftMs = timeoutMs; leftMs > 0 && this.sockets.size > 0; leftMs -= QUIET_MS) {
      const before = this.#requestsOpened;
      await this.until(() => this.sockets.size === 0, Math.min(QUIET_MS, leftMs));
      if (this.requests === 0 && this.#requestsOpened === before) return;
    }
  }

  /** Resolves when the condition holds or the timeout has passed. */
  until(condition: () => boolean, timeoutMs: number): Promise<void> {
    return new Promise((resolve) => {
      const done = (): void => {
        clearTimeout(timer);
        this.#checks.delete(check);
        resolve();
      };
      const check = (): void => {
        if (condition()) done();
      };
      const timer = setTimeout(done, timeoutMs);
      this.#checks.add(check);
      check();
    });
  }

  #check(): void {
    for (const check of this.#checks) check();
  }
}

function connectionInfo(socket: TLSSocket): ConnectionInfo {
  return {
    protocol: socket.alpnProtocol === "h2" ? "h2" : "http/1.1",
    remoteAddress: socket.remoteAddress ?? "",
    clientChain: presentedChain(socket),
  };
}

/** Maximum length of a client's certificate chain; every legitimate chain is shorter. */
const CHAIN_LENGTH_MAX = 8;

/**
 * Returns the chain that the client presented. It uses Node's legacy certificate objects, because in Node 24 the
 * `issuerCertificate` of a client's X509Certificate is always undefined. If the client omitted the CA, Node appends the
 * one that it trusts.
 */
function presentedChain(socket: TLSSocket): readonly X509Certificate[] {
  const chain: X509Certificate[] = [];
  let presented: DetailedPeerCertificate | undefined = socket.getPeerCertificate(true);
  while (presented?.raw !== undefined && chain.length < CHAIN_LENGTH_MAX) {
    chain.push(new X509Certificate(presented.raw));
    const issuer: DetailedPeerCertificate | undefined = presented.issuerCertificate;
    presented = issuer === presented ? undefined : issuer;
  }
  return chain;
}
