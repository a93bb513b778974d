/**
 * One request from one server to another across the simulated network, and its response. Whether and how it fails is
 * drawn when it is sent; apart from that, it behaves as the port (serving/http/upstream.ts) specifies. The server's
 * side continues after the caller's side has ended: a canceled request may still arrive and be executed.
 */
import type { Host } from "./host.ts";
import { randomInteger, type Random } from "../../base/random.ts";
import { discardResponse } from "../../serving/http/closed-sink.ts";
import {
  BodyTooLargeError,
  type ApiRequest,
  type ApiResponse,
  type RequestBody,
  type ResponseHeaders,
} from "../../serving/http/message.ts";
import { UPSTREAM_LIMITS } from "../../serving/http/node/upstream/upstream-limits.ts";
import { EMPTY_BODY } from "../../serving/http/request-body.ts";
import {
  UpstreamError,
  type UpstreamFailure,
  type UpstreamRequest,
  type UpstreamResponse,
} from "../../serving/http/upstream.ts";
import type { Links, Stream } from "./links.ts";
import type { PeerCertificate } from "./peer-certificate.ts";
import { Relay } from "./relay.ts";

/** A server that listens at an address. */
export interface NetworkNode {
  readonly name: string;
  readonly host: Host;
  readonly handle: (request: ApiRequest) => Promise<ApiResponse>;
}

export type Fate =
  | "arrives"
  /** The connection breaks or hangs before the server receives anything. */
  | "request-lost"
  /** The connection breaks or hangs after the server has executed the request. */
  | "response-lost"
  /** The response is truncated. */
  | "cut";

interface SimulatedExchangeOptions {
  readonly links: Links;
  readonly random: Random;
  readonly certificate: PeerCertificate;
  readonly from: { readonly name: string; readonly host: Host; readonly ip: string };
  readonly toName: string;
  /** Finds the server that listens at the address when the request arrives. */
  readonly find: () => NetworkNode | undefined;
  readonly request: UpstreamRequest;
  readonly fate: Fate;
  readonly onOver: () => void;
  readonly resolve: (response: UpstreamResponse) => void;
  readonly reject: (error: UpstreamError) => void;
}

const CUT_AFTER_MS_MAX = 30_000;

export class SimulatedExchange {
  readonly #parts: SimulatedExchangeOptions;
  readonly #server = new AbortController();
  readonly #onAbort = (): void => this.#fail("aborted", "the request was aborted");
  readonly #order: Stream = { lastAtMs: 0 };
  #isDeparted = false;
  #isAnswered = false;
  #isOver = false;
  #node: NetworkNode | undefined;
  #relay: Relay | undefined;
  #removeDeathListener: () => void = () => {};

  constructor(parts: SimulatedExchangeOptions) {
    this.#parts = parts;
    const { signal } = parts.request;
    if (signal.aborted) this.#onAbort();
    else signal.addEventListener("abort", this.#onAbort);
  }

  async begin(): Promise<void> {
    if (this.#isOver) return;
    const body = await collect(this.#parts.request.body);
    if (this.#isOver) return;
    const { links, from, toName, random, fate } = this.#parts;
    const isPartitioned = links.isBlocked(from.name, toName) || links.isBlocked(toName, from.name);
    // Across a partition, either the connection is already open and hangs, or no connection is established.
    if (isPartitioned && randomInteger(random, 2) === 0) return this.#neverConnects();
    this.#isDeparted = true;
    if (fate === "request-lost") return this.#loseConnection();
    links.carry(from.name, toName, () => this.#arrive(body));
  }

  /** Called when the caller gives up or loses the connection. */
  break(reason: string): void {
    this.#fail("reset", reason);
  }

  #neverConnects(): void {
    const { from } = this.#parts;
    from.host.clock.after(UPSTREAM_LIMITS.connectTimeoutMs, () => this.#fail("timeout", "no connection in time"));
  }

  /** Loses the connection, by a reset or by a hang that only the caller's timeout ends. */
  #loseConnection(): void {
    const { random } = this.#parts;
    if (randomInteger(random, 2) === 0) this.#toCaller(() => this.#fail("reset", "the connection broke"));
  }

  #arrive(body: Buffer): void {
    const { find, request, from, certificate, random } = this.#parts;
    if (this.#isOver && randomInteger(random, 2) === 0) return;
    const node = find();
    if (node === undefined) {
      return this.#toCaller(() => {
        this.#isDeparted = false;
        this.#fail("connect", "the connection was refused");
      });
    }
    this.#node = node;
    this.#removeDeathListener = node.host.onDeath(() =>
      this.#toCaller(() => this.#fail("reset", "the server crashed")),
    );
    const received = toApiRequest(request, body, {
      connection: { protocol: "http/1.1", remoteAddress: from.ip, clientChain: certificate.chain },
      signal: this.#server.signal,
    });
    node.host
      .settleWhileRunning(() => node.handle(received))
      .then(
        (response) => this.#onResponse(response, node),
        () => this.#toCaller(() => this.#fail("reset", "the server failed")),
      );
  }

  #onResponse(response: ApiResponse, node: NetworkNode): void {
    const { fate, random } = this.#parts;
    if (fate === "response-lost" || this.#server.signal.aborted) {
      discardResponse(response);
      this.#leaveServer();
      return this.#loseConnection();
    }
    const { status, body } = response;
    const headers = flatHeaders(response.headers);
    if (body.kind === "stream" || (body.kind === "bytes" && fate === "cut")) {
      const relay = this.#openRelay(node);
      this.#toCaller(() => this.#respond({ status, headers, body: relay.body() }));
      if (body.kind === "stream") body.open(relay.sink());
      else writeHalf(relay, body.chunks);
      if (fate === "cut") {
        const { host } = this.#parts.from;
        // If a partition delays the response until then, the whole request fails.
        host.clock.after(random.float() * CUT_AFTER_MS_MAX, () => this.#fail("reset", "the connection broke"));
      }
      return;
    }
    this.#leaveServer();
    this.#toCaller(() => {
      this.#respond({ status, headers, body });
      this.#leave();
    });
  }

  #openRelay(node: NetworkNode): Relay {
    const { links, from, toName } = this.#parts;
    this.#relay = new Relay({
      toReader: (deliver) => {
        links.carry(toName, from.name, () => from.host.run(deliver), this.#order);
      },
      toWriter: (deliver) => links.carry(from.name, toName, () => node.host.run(deliver)),
      onOver: () => this.#leave(),
    });
    return this.#relay;
  }

  #toCaller(deliver: () => void): void {
    const { links, from, toName } = this.#parts;
    links.carry(toName, from.name, () => from.host.run(deliver), this.#order);
  }

  #respond(response: UpstreamResponse): void {
    if (this.#isOver) return discardResponse(response);
    this.#isAnswered = true;
    this.#parts.resolve(response);
  }

  #fail(failure: UpstreamFailure, message: string): void {
    if (this.#isOver) return;
    this.#leave();
    const { links, from, toName, reject } = this.#parts;
    if (this.#isDeparted) links.carry(from.name, toName, () => this.#node?.host.run(() => this.#server.abort()));
    if (from.host.state === "dead") this.#relay?.close();
    else this.#relay?.cut();
    if (this.#isAnswered) return;
    const error = new UpstreamError(failure, `${toName}: ${message}`, {
      isSent: this.#isDeparted,
      isRefused: failure === "connect",
    });
    from.host.run(() => reject(error));
  }

  #leave(): void {
    if (this.#isOver) return;
    this.#isOver = true;
    this.#leaveServer();
    this.#parts.request.signal.removeEventListener("abort", this.#onAbort);
    this.#parts.onOver();
  }

  #leaveServer(): void {
    this.#removeDeathListener();
  }
}

async function collect(body: UpstreamRequest["body"]): Promise<Buffer> {
  const pieces: Buffer[] = [];
  for await (const piece of body ?? []) pieces.push(piece);
  return Buffer.concat(pieces);
}

function toApiRequest(
  { method, target, headers: raw }: UpstreamRequest,
  body: Buffer,
  from: Pick<ApiRequest, "connection" | "signal">,
): ApiRequest {
  const queryAt = target.indexOf("?");
  const headers: Record<string, string> = {};
  for (let index = 0; index + 1 < raw.length; index += 2) {
    const [given = "", value = ""] = raw.slice(index, index + 2);
    const name = given.toLowerCase();
    headers[name] = headers[name] === undefined ? value : `${headers[name]}, ${value}`;
  }
  return {
    method,
    path: queryAt < 0 ? target : target.slice(0, queryAt),
    rawQuery: queryAt < 0 ? "" : target.slice(queryAt + 1),
    headers,
    rawHeaders: raw,
    body: body.length === 0 ? EMPTY_BODY : receivedBody(body),
    ...from,
  };
}

/** The body is read once, as the server's filters guarantee. */
function receivedBody(bytes: Buffer): RequestBody {
  return {
    isEmpty: false,
    read: (limitBytes) =>
      bytes.length > limitBytes
        ? Promise.reject(new BodyTooLargeError(`more than ${limitBytes} bytes`))
        : Promise.resolve(bytes),
    async *stream() {
      yield bytes;
    },
  };
}

function flatHeaders(headers: ResponseHeaders): string[] {
  return Object.entries(headers).flatMap(([name, value]) => [value].flat().flatMap((one) => [name, one]));
}

function writeHalf(relay: Relay, chunks: readonly Buffer[]): void {
  const whole = Buffer.concat(chunks);
  const sink = relay.sink();
  sink.write({ bytes: whole.subarray(0, whole.length >> 1) });
  sink.abort();
}
