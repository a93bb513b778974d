/**
 * A transport over HTTPS with the HTTP client of Node: certificates, tokens, persistent connections. Not for browsers.
 */
import {
  request as httpRequest,
  Agent as HttpAgent,
  type ClientRequest as NodeRequest,
  type IncomingMessage,
} from "node:http";
import { request as httpsRequest, Agent as HttpsAgent } from "node:https";
import { headerValue } from "../serving/http/message.ts";
import { failureOf, onceConnected } from "./node-failures.ts";
import { afterArrivals } from "./system.ts";
import {
  abortedError,
  isFailure,
  TransportError,
  type ClientRequest,
  type ClientResponse,
  type Transport,
} from "./transport.ts";

export interface NodeTransportOptions {
  /** Such as "https://127.0.0.1:6443". Plain http is for tests and proxies on the same machine. */
  readonly url: string;
  /** PEM of the trusted certificate authorities. Default: the system's. */
  readonly ca?: string | Buffer;
  /** PEM of the client certificate and its key. */
  readonly cert?: string | Buffer;
  readonly key?: string | Buffer;
  /** The expected name in the server's certificate. Default: the host of the URL. */
  readonly serverName?: string;
  /** A token, or a function that is called for every request, because tokens in files are rotated. */
  readonly token?: string | (() => string);
  /** Maximum number of connections. Each watch occupies one. Default: unlimited. */
  readonly connectionsMax?: number;
}

export interface NodeTransport extends Transport, Disposable {}

/**
 * Idle time after which the system sends TCP keep-alive probes. A connection on which not even the reply to a probe
 * arrives is dead.
 */
const KEEP_ALIVE_PROBE_MS = 15_000;

export function createNodeTransport(options: NodeTransportOptions): NodeTransport {
  const { ca, cert, key, serverName, token, connectionsMax } = options;
  const url = new URL(options.url);
  const isSecure = url.protocol === "https:";
  const agentOptions = {
    keepAlive: true,
    keepAliveMsecs: KEEP_ALIVE_PROBE_MS,
    // As Go: every certificate of `ca` is trusted, even if it is the server's own and not that of a CA.
    allowPartialTrustChain: true,
    ...(connectionsMax === undefined ? {} : { maxSockets: connectionsMax }),
    ...(ca === undefined ? {} : { ca }),
    ...(cert === undefined ? {} : { cert }),
    ...(key === undefined ? {} : { key }),
    ...(serverName === undefined ? {} : { servername: serverName }),
  };
  const agent = isSecure ? new HttpsAgent(agentOptions) : new HttpAgent(agentOptions);
  const start = isSecure ? httpsRequest : httpRequest;
  const base = url.pathname.replace(/\/+$/, "");
  const open = ({ method, target, headers, body, signal }: ClientRequest): NodeRequest => {
    const bearer = typeof token === "function" ? token() : token;
    const request = start({
      agent,
      host: url.hostname.replace(/^\[|\]$/g, ""),
      port: url.port === "" ? (isSecure ? 443 : 80) : url.port,
      method,
      path: base + target,
      headers: {
        ...headers,
        ...(bearer === undefined ? {} : { authorization: `Bearer ${bearer}` }),
        ...(body === undefined ? {} : { "content-length": body.length }),
      },
      ...(signal === undefined ? {} : { signal }),
    });
    request.end(body);
    return request;
  };
  return {
    async send(request) {
      // Waits until Node has noticed which connections are closed. A write on a closed connection would fail, and the
      // caller could not know whether it was executed.
      if (request.method !== "GET" && Object.keys(agent.freeSockets).length > 0) await afterArrivals();
      return sendFresh(open, request);
    },
    [Symbol.dispose]: () => agent.destroy(),
  };
}

/**
 * The server may have closed a reused connection just before the request was sent. In that case a read is sent again on
 * another connection.
 */
async function sendFresh(
  open: (request: ClientRequest) => NodeRequest,
  request: ClientRequest,
): Promise<ClientResponse> {
  for (;;) {
    if (request.signal?.aborted === true) throw abortedError(request.signal);
    const sent = open(request);
    let wasSent = false;
    onceConnected(sent, () => {
      wasSent = true;
    });
    try {
      return toResponse(await headOf(sent), request.signal);
    } catch (thrown) {
      const error = toTransportError(thrown, request.signal, wasSent);
      if (!(sent.reusedSocket && request.method === "GET" && isFailure(error, "reset"))) throw error;
    }
  }
}

function headOf(request: NodeRequest): Promise<IncomingMessage> {
  return new Promise((resolve, reject) => {
    request.on("error", reject);
    request.once("response", resolve);
  });
}

function toResponse(response: IncomingMessage, signal: AbortSignal | undefined): ClientResponse {
  const names = Object.keys(response.headers);
  const headers = Object.fromEntries(names.map((name) => [name, headerValue(response.headers, name)]));
  return { status: response.statusCode ?? 0, headers, body: chunks(response, signal) };
}

async function* chunks(
  response: IncomingMessage,
  signal: AbortSignal | undefined,
): AsyncGenerator<Uint8Array, void, undefined> {
  try {
    for await (const chunk of response) yield chunk as Uint8Array;
  } catch (thrown) {
    throw toTransportError(thrown, signal, true);
  }
}

function toTransportError(thrown: unknown, signal: AbortSignal | undefined, wasSent: boolean): TransportError {
  if (signal?.aborted === true) return abortedError(signal);
  const message = thrown instanceof Error ? thrown.message : String(thrown);
  return new TransportError(failureOf({ error: thrown, wasSent }), message, { cause: thrown });
}
