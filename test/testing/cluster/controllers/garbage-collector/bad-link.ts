/**
 * A transport to one server that delays requests, responses and watch events, and injects faults for single resources.
 */
import { sleep, type Clock } from "../../../../../src/base/clock.ts";
import { randomInteger, type Random } from "../../../../../src/base/random.ts";
import { RESPONSE_BYTES_MAX } from "../../../../../src/client/client-limits.ts";
import {
  readBody,
  TransportError,
  type ClientRequest,
  type ClientResponse,
  type Transport,
} from "../../../../../src/client/transport.ts";

/**
 * Faults of a resource:
 * - unavailable: every request gets 503, as from a server that cannot reach the peer that serves the resource
 * - not-served: every request gets 404, as from a server that does not serve the resource
 * - broken: every request fails before its response arrives; writes are executed
 */
export type Fault = "unavailable" | "not-served" | "broken";

export class BadLink implements Transport {
  /** Faults, keyed by the plural name of the resource. */
  readonly faults = new Map<string, Fault>();
  /** Every write, such as "DELETE /path". */
  readonly writes: string[] = [];
  /** Every read of a single object, as "GET /path". */
  readonly reads: string[] = [];
  /** Each request and each response is delayed by a random time up to this limit. */
  latencyMsMax = 0;
  readonly #server: Transport;
  readonly #clock: Clock;
  readonly #random: Random;
  readonly #delays = new Map<string, number>();
  readonly #watches = new Map<AbortController, string>();

  constructor(server: Transport, { clock, random }: { readonly clock: Clock; readonly random: Random }) {
    this.#server = server;
    this.#clock = clock;
    this.#random = random;
  }

  /** Injects a fault at once: open watches of the resource are cut. */
  fail(resource: string, fault: Fault): void {
    this.faults.set(resource, fault);
    for (const [watch, of] of this.#watches) if (of === resource) watch.abort("cut");
  }

  /** Delays every later watch event of the resource by this time. */
  delayEvents(resource: string, byMs: number): void {
    this.#delays.set(resource, byMs);
  }

  async send(request: ClientRequest): Promise<ClientResponse> {
    const path = request.target.split("?")[0]!;
    const { resource, name } = placeOf(path);
    const isWatch = request.target.includes("watch=true");
    if (request.method !== "GET") this.writes.push(`${request.method} ${path}`);
    else if (name !== undefined) this.reads.push(`GET ${path}`);
    await this.#travel(request.signal);
    const fault = this.faults.get(resource);
    if (fault === "unavailable") return responseOf(503, UNAVAILABLE_STATUS, { "retry-after": "1" });
    if (fault === "not-served") return responseOf(404, "404 page not found\n");
    if (fault === "broken" && request.method === "GET") throw new TransportError("reset", "the connection broke");
    const response = await (isWatch ? this.#watch(request, resource) : this.#server.send(request));
    await this.#travel(request.signal);
    if (fault !== "broken") return response;
    await readBody(response.body, RESPONSE_BYTES_MAX);
    throw new TransportError("reset", "the connection broke");
  }

  async #travel(signal: AbortSignal | undefined): Promise<void> {
    if (this.latencyMsMax === 0) return;
    if (!(await sleep(this.#clock, randomInteger(this.#random, this.latencyMsMax + 1), signal)))
      throw new TransportError("aborted", "the request was aborted");
  }

  async #watch(request: ClientRequest, resource: string): Promise<ClientResponse> {
    const watch = new AbortController();
    const onAbort = (): void => watch.abort();
    request.signal?.addEventListener("abort", onAbort, { once: true });
    this.#watches.set(watch, resource);
    const response = await this.#server.send({ ...request, signal: watch.signal });
    return { ...response, body: this.#events(response, watch) };
  }

  /** Delays watch events like responses, but keeps their order. */
  async *#events(response: ClientResponse, watch: AbortController): AsyncGenerator<Uint8Array, void, undefined> {
    try {
      for await (const chunk of response.body) {
        await this.#travel(watch.signal);
        await sleep(this.#clock, this.#delays.get(this.#watches.get(watch) ?? "") ?? 0, watch.signal);
        yield chunk;
      }
    } catch (thrown) {
      throw watch.signal.reason === "cut" ? new TransportError("reset", "the watch was cut") : thrown;
    } finally {
      this.#watches.delete(watch);
    }
  }
}

const UNAVAILABLE_STATUS = JSON.stringify({
  kind: "Status",
  apiVersion: "v1",
  metadata: {},
  status: "Failure",
  reason: "ServiceUnavailable",
  message: "the server of the resource cannot be reached",
  details: { retryAfterSeconds: 1 },
  code: 503,
});

function responseOf(status: number, text: string, headers: Record<string, string> = {}): ClientResponse {
  async function* body(): AsyncGenerator<Uint8Array, void, undefined> {
    yield new TextEncoder().encode(text);
  }
  return { status, headers, body: body() };
}

function placeOf(path: string): { readonly resource: string; readonly name: string | undefined } {
  const segments = path.split("/").slice(path.startsWith("/api/") ? 3 : 4);
  const [resource = "", name] = segments[0] === "namespaces" && segments.length > 2 ? segments.slice(2) : segments;
  return { resource, name };
}
