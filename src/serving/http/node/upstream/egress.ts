/** Dialers that reach other servers through an egress proxy with HTTP CONNECT. */
import type { Socket, TcpNetConnectOpts } from "node:net";
import type { Duplex } from "node:stream";
import { createSecureContext, type SecureContext } from "node:tls";

import { authorityOf, type UpstreamAddress, UpstreamError } from "../../upstream.ts";
import { type Dial, openSocket, reasonOf, secure } from "./dial.ts";

export interface TcpProxy {
  readonly host: string;
  readonly port: number;
  /** PEM texts for TLS to the proxy. Undefined if the connection to the proxy is not encrypted. */
  readonly tls?: {
    /** The CAs of the proxy. If undefined, these are the CAs that Node trusts. */
    readonly ca?: string;
    readonly cert?: string;
    readonly key?: string;
  };
  readonly timeoutMs?: number;
}

interface UnixProxy {
  readonly path: string;
  readonly timeoutMs?: number;
}

/** Time within which the proxy must have connected. A shorter deadline of the caller takes precedence. */
const PROXY_TIMEOUT_MS = 10_000;

/** Maximum size of the head of the proxy's response. */
const PROXY_HEAD_BYTES_MAX = 16 * 1024;

const STATUS = /^HTTP\/1\.[01] (\d{3})(?:[ \r]|$)/;

/** Returns a dialer. Throws if the PEM texts cannot be used. */
export function connectProxyOverTcp({ host, port, tls, timeoutMs = PROXY_TIMEOUT_MS }: TcpProxy): Dial {
  const proxy = authorityOf({ host, port });
  const options: TcpNetConnectOpts = { host, port, noDelay: true, keepAlive: true, keepAliveInitialDelay: 15_000 };
  const context: SecureContext | undefined =
    tls === undefined
      ? undefined
      : createSecureContext({ ...tls, minVersion: "TLSv1.2", allowPartialTrustChain: true });
  return throughProxy({ proxy, timeoutMs }, async (signal) => {
    const socket = await openSocket(options, signal);
    return context === undefined ? socket : secure(socket, { context, serverName: host }, signal);
  });
}

export function connectProxyOverUnixSocket({ path, timeoutMs = PROXY_TIMEOUT_MS }: UnixProxy): Dial {
  return throughProxy({ proxy: path, timeoutMs }, (signal) => openSocket({ path }, signal));
}

interface ProxyFacts {
  /** The address of the proxy, for messages. */
  readonly proxy: string;
  readonly timeoutMs: number;
}

function throughProxy({ proxy, timeoutMs }: ProxyFacts, open: (signal: AbortSignal) => Promise<Socket>): Dial {
  return async (address, callerSignal) => {
    const deadline = new AbortController();
    const timer = setTimeout(() => {
      const message = `the egress proxy ${proxy} did not connect within ${timeoutMs} ms`;
      deadline.abort(new UpstreamError("timeout", message, { isSent: false, isOfEgressProxy: true, timeoutMs }));
    }, timeoutMs);
    const signal = AbortSignal.any([callerSignal, deadline.signal]);
    try {
      const socket = await opened(proxy, () => open(signal));
      await openTunnel(socket, { proxy, address, signal });
      return socket;
    } finally {
      clearTimeout(timer);
    }
  };
}

async function opened(proxy: string, open: () => Promise<Socket>): Promise<Socket> {
  try {
    return await open();
  } catch (error) {
    if (error instanceof UpstreamError) throw error;
    const problem = error instanceof Error ? error.message : String(error);
    throw failure(`the egress proxy ${proxy} cannot be reached: ${problem}`, error);
  }
}

interface Tunnel {
  readonly proxy: string;
  readonly address: UpstreamAddress;
  readonly signal: AbortSignal;
}

/**
 * Asks the proxy to connect to the address. Resolves when the socket is connected to it; otherwise destroys the socket.
 */
function openTunnel(socket: Duplex, { proxy, address, signal }: Tunnel): Promise<void> {
  const authority = authorityOf(address);
  return new Promise((resolve, reject) => {
    let response: Buffer = Buffer.alloc(0);
    const stop = (): void => {
      socket.off("data", onData).off("error", onError).off("end", onEnd).off("close", onEnd);
      signal.removeEventListener("abort", onAbort);
    };
    const fail = (error: Error): void => {
      stop();
      socket.on("error", () => undefined);
      socket.destroy();
      reject(error);
    };
    const onData = (bytes: Buffer): void => {
      response = Buffer.concat([response, bytes]);
      const verdict = readVerdict(response, { proxy, authority });
      if (verdict === "incomplete") return;
      if (verdict !== "open") return fail(verdict);
      stop();
      socket.pause();
      resolve();
    };
    const onError = (error: Error): void => fail(broken(error));
    const onEnd = (): void => fail(broken(undefined));
    const onAbort = (): void => fail(reasonOf(signal));
    const broken = (cause: Error | undefined): UpstreamError =>
      failure(`the egress proxy ${proxy} closed the connection instead of connecting to ${authority}`, cause);
    if (signal.aborted) return onAbort();
    signal.addEventListener("abort", onAbort, { once: true });
    socket.on("data", onData).on("error", onError).on("end", onEnd).on("close", onEnd);
    socket.write(`CONNECT ${authority} HTTP/1.1\r\nHost: ${authority}\r\n\r\n`, "latin1");
  });
}

interface Parties {
  readonly proxy: string;
  readonly authority: string;
}

function readVerdict(answer: Buffer, { proxy, authority }: Parties): "incomplete" | "open" | UpstreamError {
  const end = answer.indexOf("\r\n\r\n");
  if (end < 0 && answer.length <= PROXY_HEAD_BYTES_MAX) return "incomplete";
  if (end < 0 || end > PROXY_HEAD_BYTES_MAX) {
    return failure(`the egress proxy ${proxy} did not end the head of its response`);
  }
  // Only bytes of the tunnel follow a successful response, even if its headers announce a body.
  const status = STATUS.exec(answer.toString("latin1", 0, end))?.[1];
  if (status === undefined) return failure(`the egress proxy ${proxy} does not speak HTTP/1.1`);
  if (!status.startsWith("2")) {
    return failure(`the egress proxy ${proxy} did not connect to ${authority}: it returned ${status}`);
  }
  // In TLS the client sends first, so the server cannot have sent any bytes yet.
  if (answer.length > end + 4) {
    return failure(`the egress proxy ${proxy} sent unexpected bytes before those of ${authority}`);
  }
  return "open";
}

function failure(message: string, cause?: unknown): UpstreamError {
  return new UpstreamError("connect", message, { isSent: false, isOfEgressProxy: true, cause });
}
