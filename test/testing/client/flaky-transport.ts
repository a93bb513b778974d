/** A transport to a server whose connections a test can cut, reject, or redirect to another server. */
import {
  isFailure,
  TransportError,
  type ClientRequest,
  type ClientResponse,
  type Transport,
} from "../../../src/client/transport.ts";

export class FlakyTransport implements Transport {
  /** The server that receives the requests; if undefined, connections are refused. */
  server: Transport | undefined;
  /** Every request as "GET /path?query", decoded. */
  readonly requests: string[] = [];
  /**
   * The number of further chunks, counted over all open streams, after which the stream that delivers the last of them
   * is cut.
   */
  piecesUntilCut = Infinity;
  readonly #open = new Set<AbortController>();

  constructor(server: Transport) {
    this.server = server;
  }

  /** Cuts all open requests and streams. */
  cut(): void {
    for (const connection of [...this.#open]) connection.abort("cut");
  }

  async send(request: ClientRequest): Promise<ClientResponse> {
    this.requests.push(`${request.method} ${decodeURIComponent(request.target)}`);
    if (this.server === undefined) throw new TransportError("refused", "connection refused");
    const connection = new AbortController();
    this.#open.add(connection);
    const onAbort = (): void => connection.abort(request.signal?.reason);
    request.signal?.addEventListener("abort", onAbort, { once: true });
    try {
      const response = await this.server.send({ ...request, signal: connection.signal });
      return { ...response, body: this.#body(response, connection) };
    } catch (thrown) {
      this.#open.delete(connection);
      throw cutError(thrown, connection);
    }
  }

  async *#body(response: ClientResponse, connection: AbortController): AsyncGenerator<Uint8Array, void, undefined> {
    try {
      for await (const piece of response.body) {
        yield piece;
        this.piecesUntilCut--;
        if (this.piecesUntilCut !== 0) continue;
        this.piecesUntilCut = Infinity;
        throw new TransportError("reset", "the connection was cut");
      }
    } catch (thrown) {
      throw cutError(thrown, connection);
    } finally {
      this.#open.delete(connection);
    }
  }
}

function cutError(thrown: unknown, connection: AbortController): unknown {
  const isCut = isFailure(thrown, "aborted") && connection.signal.reason === "cut";
  return isCut ? new TransportError("reset", "the connection was cut") : thrown;
}
