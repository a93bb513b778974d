/**
 * A client transport over HTTP/2 that behaves like the HTTP/2 client of Go: it uses one connection for all requests,
 * and opens a new connection after GOAWAY.
 */
import {
  connect,
  constants,
  type ClientHttp2Session,
  type ClientHttp2Stream,
  type IncomingHttpHeaders,
} from "node:http2";
import { TransportError, type ClientRequest, type ClientResponse, type Transport } from "../../src/client/transport.ts";
import type { WireTally } from "./restarting-clients-wire.ts";

export interface Http2TransportOptions {
  readonly url: string;
  readonly ca: string;
  readonly token: string;
  readonly wire: WireTally;
  readonly onGoaway: () => void;
}

interface Connection {
  readonly session: ClientHttp2Session;
  /** The last stream that the server has processed, according to its GOAWAY; Infinity before GOAWAY. */
  lastStream: number;
}

const CONNECT_CODES = new Set(["ECONNREFUSED", "ECONNRESET"]);
const REFUSED_TIMES_MAX = 10;

export class Http2Transport implements Transport {
  readonly #options: Http2TransportOptions;
  #connection: Connection | undefined;

  constructor(options: Http2TransportOptions) {
    this.#options = options;
  }

  async send(request: ClientRequest): Promise<ClientResponse> {
    for (let rejected = 0; ; rejected++) {
      const connection = await this.#connect();
      try {
        return await this.#ask(connection, request);
      } catch (thrown) {
        if (request.signal?.aborted === true) throw new TransportError("aborted", String(thrown));
        if (!(thrown instanceof UnprocessedError)) throw new TransportError("reset", String(thrown), { cause: thrown });
        if (rejected >= REFUSED_TIMES_MAX)
          throw new TransportError("refused", "the server rejected the request repeatedly");
      }
    }
  }

  /** Returns the current connection, or opens a new one if the server has sent GOAWAY or closed it. */
  async #connect(): Promise<Connection> {
    const kept = this.#connection;
    if (kept !== undefined && !kept.session.closed && !kept.session.destroyed) return kept;
    const { url, ca, wire, onGoaway } = this.#options;
    const session = connect(url, { ca });
    const connection: Connection = { session, lastStream: Infinity };
    session.on("goaway", (_code, lastStream) => {
      connection.lastStream = lastStream;
      onGoaway();
    });
    const { promise, resolve, reject } = Promise.withResolvers<void>();
    session.once("connect", () => resolve());
    session.on("error", (error) => {
      wire.failed(error);
      reject(new TransportError(CONNECT_CODES.has(codeOf(error)) ? "refused" : "other", String(error)));
    });
    session.once("close", () => reject(new TransportError("refused", "closed before it was established")));
    this.#connection = connection;
    await promise;
    return connection;
  }

  async #ask(
    connection: Connection,
    { method, target, headers, body, signal }: ClientRequest,
  ): Promise<ClientResponse> {
    const { session } = connection;
    if (session.closed || session.destroyed) throw new UnprocessedError();
    const authorization = `Bearer ${this.#options.token}`;
    const head = { ":method": method, ":path": target, ...headers, authorization };
    const stream = session.request(head, { endStream: body === undefined });
    signal?.addEventListener("abort", () => stream.close(constants.NGHTTP2_CANCEL), { once: true });
    if (body !== undefined) stream.end(body);
    const response = await responseOf(stream, connection, signal);
    this.#options.wire.responded(`h2 ${method} ${target}`, response.status, response.headers["x-kubernetes-ready"]);
    return response;
  }
}

/** The server has not processed the request, so the client may repeat it, even if it is a write. */
class UnprocessedError extends Error {}

function responseOf(
  stream: ClientHttp2Stream,
  connection: Connection,
  signal: AbortSignal | undefined,
): Promise<ClientResponse> {
  return new Promise((resolve, reject) => {
    stream.once("response", (headers) =>
      resolve({ status: Number(headers[":status"]), headers: plain(headers), body: chunks(stream, signal) }),
    );
    stream.on("error", () => {});
    stream.once("close", () => {
      const { id = Infinity, rstCode } = stream;
      const wasRejected = rstCode === constants.NGHTTP2_REFUSED_STREAM || id > connection.lastStream || id === Infinity;
      reject(wasRejected ? new UnprocessedError() : new Error(`stream ${id} closed with ${rstCode} and no response`));
    });
  });
}

/**
 * The chunks of the response. Reading starts at once, because a stream that is not read before it closes loses its
 * data.
 */
function chunks(stream: ClientHttp2Stream, signal: AbortSignal | undefined): AsyncIterable<Uint8Array> {
  const waiting: Uint8Array[] = [];
  let wake = (): void => {};
  let end: "complete" | "cut" | undefined;
  stream.on("data", (chunk: Uint8Array) => {
    waiting.push(chunk);
    wake();
  });
  stream.on("end", () => (end ??= stream.rstCode === constants.NGHTTP2_NO_ERROR ? "complete" : "cut"));
  stream.on("close", () => {
    end ??= "cut";
    wake();
  });
  return (async function* () {
    for (;;) {
      while (waiting.length > 0) yield waiting.shift()!;
      if (end === "complete") return;
      if (end === "cut")
        throw new TransportError(signal?.aborted === true ? "aborted" : "reset", `closed with ${stream.rstCode}`);
      await new Promise<void>((resolve) => (wake = resolve));
    }
  })();
}

function plain(headers: IncomingHttpHeaders): Record<string, string> {
  const known = Object.entries(headers).filter(([name, value]) => !name.startsWith(":") && value !== undefined);
  return Object.fromEntries(known.map(([name, value]) => [name, String(value)]));
}

function codeOf(error: Error): string {
  return "code" in error ? String(error.code) : "";
}
