/**
 * Makes a connection to another server: a dialer opens the byte stream, and then TLS is negotiated on it. Both steps
 * fail with an `UpstreamError`.
 */
import { connect as connectTcp, isIP, type NetConnectOpts, type Socket } from "node:net";
import type { Duplex } from "node:stream";
import { connect as connectTls, type SecureContext, type TLSSocket } from "node:tls";

import { type UpstreamAddress, UpstreamError, type UpstreamFailure } from "../../upstream.ts";

/**
 * Opens a raw connection to the address. When the signal aborts, it rejects and leaves nothing open. If a dialer cannot
 * do that and returns late, its connection is destroyed.
 */
export type Dial = (address: UpstreamAddress, signal: AbortSignal) => Promise<Duplex>;

export function directDial(tcpKeepAliveMs: number): Dial {
  return ({ host, port }, signal) =>
    openSocket({ host, port, noDelay: true, keepAlive: true, keepAliveInitialDelay: tcpKeepAliveMs }, signal);
}

export function openSocket(options: NetConnectOpts, signal: AbortSignal): Promise<Socket> {
  return new Promise((resolve, reject) => {
    if (signal.aborted) return reject(reasonOf(signal));
    const socket = connectTcp(options);
    const onAbort = (): void => void socket.destroy(reasonOf(signal));
    signal.addEventListener("abort", onAbort, { once: true });
    socket.once("connect", () => {
      signal.removeEventListener("abort", onAbort);
      socket.off("error", onError);
      // The receiver of the socket adds a listener too, but perhaps not in the same tick of the event loop.
      socket.on("error", ignore);
      resolve(socket);
    });
    const onError = (error: Error): void => {
      signal.removeEventListener("abort", onAbort);
      reject(error);
    };
    socket.once("error", onError);
  });
}

interface TlsParts {
  readonly context: SecureContext;
  /** The name that is sent as SNI and required in the server's certificate. */
  readonly serverName: string;
  /** If true, the certificate is not verified. */
  readonly insecureSkipTlsVerify?: boolean;
}

/** Performs the TLS handshake on a raw connection, which this function owns from now on. */
export function secure(
  raw: Duplex,
  { context, serverName, insecureSkipTlsVerify = false }: TlsParts,
  signal: AbortSignal,
): Promise<TLSSocket> {
  return new Promise((resolve, reject) => {
    if (signal.aborted) {
      raw.destroy();
      return reject(reasonOf(signal));
    }
    raw.on("error", ignore);
    const socket = connectTls({
      socket: raw,
      secureContext: context,
      // SNI must not be an IP address, but a certificate may contain one.
      ...(isIP(serverName) === 0 ? { servername: serverName } : { host: serverName }),
      ALPNProtocols: ["http/1.1"],
      rejectUnauthorized: !insecureSkipTlsVerify,
    });
    const settle = (act: () => void): void => {
      signal.removeEventListener("abort", onAbort);
      socket.off("error", fail);
      socket.off("close", onClose);
      socket.on("error", ignore);
      act();
    };
    const fail = (error: Error): void =>
      settle(() => {
        socket.destroy();
        raw.destroy();
        reject(error);
      });
    const onAbort = (): void => fail(reasonOf(signal));
    const onClose = (): void =>
      fail(new UpstreamError("reset", "the connection ended during the TLS handshake", UNSENT));
    signal.addEventListener("abort", onAbort, { once: true });
    socket.once("secureConnect", () => settle(() => resolve(socket)));
    socket.once("error", fail);
    socket.once("close", onClose);
  });
}

const UNSENT = { isSent: false } as const;

/** Creates the error for a connection that failed before the request could be sent. */
export function connectFailure(error: unknown, authority: string): UpstreamError {
  if (error instanceof UpstreamError) return error;
  const { code, message }: NodeJS.ErrnoException = error instanceof Error ? error : new Error(String(error));
  return new UpstreamError(connectFailureKind(code), `no connection to ${authority}: ${message.trim()}`, {
    isSent: false,
    isRefused: code === "ECONNREFUSED",
    cause: error,
  });
}

/** Error codes that mean that this process or this host has no sockets left. */
const NO_SOCKETS_LEFT: ReadonlySet<string> = new Set(["EMFILE", "ENFILE", "ENOBUFS", "ENOMEM", "EADDRNOTAVAIL"]);

/**
 * Maps an error code. Certificate errors have OpenSSL's names, such as CERT_HAS_EXPIRED; system errors begin with E.
 */
function connectFailureKind(code: string | undefined): UpstreamFailure {
  if (code === "ECONNRESET" || code === "EPIPE") return "reset";
  if (code !== undefined && NO_SOCKETS_LEFT.has(code)) return "exhausted";
  if (code === undefined || (/^E[A-Z0-9]+$/.test(code) && code !== "EPROTO")) return "connect";
  return "tls";
}

/** Alerts by which a server rejects this server's certificate. With TLS 1.3 they arrive after the handshake. */
const CERTIFICATE_ALERT = /^ERR_SSL_.*ALERT_(?:\w*CERTIFICATE\w*|UNKNOWN_CA|ACCESS_DENIED)$/;

export function isCertificateAlert(error: NodeJS.ErrnoException | undefined): boolean {
  const code = error?.code;
  return code !== undefined && CERTIFICATE_ALERT.test(code);
}

/** The reason for which the signal aborted, as an error. */
export function reasonOf(signal: AbortSignal): Error {
  const reason: unknown = signal.reason;
  return reason instanceof Error ? reason : new UpstreamError("aborted", "the connection is no longer needed", UNSENT);
}

function ignore(): void {}
