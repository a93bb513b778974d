/** TLS to a target: with those it trusts and the proof this server has, or without looking. */
import { once } from "node:events";
import { isIP } from "node:net";
import type { Duplex } from "node:stream";
import { connect as connectTls, createSecureContext, type SecureContext, type TLSSocket } from "node:tls";

import type { OutboundTarget } from "../../outbound.ts";
import { UpstreamError } from "../../upstream.ts";
import { reasonOf, secure } from "../upstream/dial.ts";

/** PEM texts. */
export interface ClientCertificate {
  readonly cert: string;
  readonly key: string;
}

/** Throws an `UpstreamError` for PEM texts that cannot be used. */
export function contextOf({ caBundle }: OutboundTarget, own: ClientCertificate | undefined): SecureContext {
  try {
    // A bundle without a certificate must not become trust in everybody whom the system trusts.
    if (caBundle !== undefined && !caBundle.includes("-----BEGIN CERTIFICATE-----"))
      throw new Error("unable to load root certificates: the bundle holds no certificate");
    return createSecureContext({
      minVersion: "TLSv1.2",
      ...(caBundle === undefined ? {} : { ca: caBundle }),
      ...(own === undefined ? {} : { cert: own.cert, key: own.key }),
    });
  } catch (error) {
    const problem = error instanceof Error ? error.message : String(error);
    const message = `the certificates for the connection cannot be used: ${problem}`;
    throw new UpstreamError("tls", message, { isSent: false, cause: error });
  }
}

/** The handshake on a raw connection, which belongs to this function from now on. */
export function handshake(
  raw: Duplex,
  target: OutboundTarget,
  context: SecureContext,
  signal: AbortSignal,
): Promise<TLSSocket> {
  const { serverName, insecureSkipTlsVerify } = target;
  return insecureSkipTlsVerify
    ? unverified(raw, target, context, signal)
    : secure(raw, { context, serverName }, signal);
}

async function unverified(
  raw: Duplex,
  { serverName }: OutboundTarget,
  context: SecureContext,
  signal: AbortSignal,
): Promise<TLSSocket> {
  raw.on("error", ignore);
  const socket = connectTls({
    socket: raw,
    secureContext: context,
    ...(isIP(serverName) === 0 ? { servername: serverName } : {}),
    ALPNProtocols: ["http/1.1"],
    rejectUnauthorized: false,
  });
  socket.on("error", ignore);
  try {
    await once(socket, "secureConnect", { signal });
    return socket;
  } catch (error) {
    socket.destroy();
    raw.destroy();
    throw signal.aborted ? reasonOf(signal) : error;
  }
}

function ignore(): void {}
