/**
 * Calls a server without a socket. The request passes the same filters as over HTTP, but nothing is serialized to HTTP.
 * It works in Node only, because the messages of the server are Buffers.
 */
import {
  headerValue,
  type ApiRequest,
  type ApiResponse,
  type ConnectionInfo,
  type StreamFrame,
  type ResponseBody,
  type ResponseHeaders,
  type StreamSink,
} from "../serving/http/message.ts";
import type { CommitCondition } from "../meta/commit-condition.ts";
import { discardResponse } from "../serving/http/closed-sink.ts";
import { bufferedBody } from "../serving/http/request-body.ts";
import { IN_PROCESS_BUFFER_BYTES } from "./client-limits.ts";
import {
  abortedError,
  isFailure,
  TransportError,
  type ClientRequest,
  type SharedEvent,
  type Transport,
} from "./transport.ts";

type Handle = (request: ApiRequest) => Promise<ApiResponse>;

const LOCAL: ConnectionInfo = { protocol: "in-process", remoteAddress: "in-process", clientChain: [] };

interface InProcessOptions {
  /** The server authenticates requests by it and their headers. */
  readonly connection?: ConnectionInfo;
  /** Returns the condition under which the writes of a request may be committed. Called when the request is sent. */
  readonly conditionOf?: () => CommitCondition | undefined;
  /** Whether watches deliver values that several clients share. */
  readonly sharesEvents?: boolean;
}

export function createInProcessTransport(handle: Handle, options: InProcessOptions = {}): Transport {
  const { connection = LOCAL, conditionOf, sharesEvents = false } = options;
  return {
    async send(request) {
      const { signal = neverAborts() } = request;
      if (signal.aborted) throw abortedError(signal);
      const from = { connection, signal, condition: conditionOf?.() };
      const answer = unlessAborted(handle(toApiRequest(request, from)), signal);
      const response = withoutUpgrade(await answer);
      const names = Object.keys(response.headers);
      const headers = Object.fromEntries(names.map((name) => [name, headerValue(response.headers, name)]));
      const isStream = response.body.kind === "stream";
      return {
        status: response.status,
        headers,
        body: bodyChunks(response, signal),
        ...(sharesEvents && isStream && { events: streamPieces(response.body, new ReaderSink(eventIn), signal) }),
      };
    },
  };
}

export interface InProcessRequest {
  readonly method: string;
  /** Path and query. */
  readonly target: string;
  readonly headers?: Readonly<Record<string, string>>;
  /** An object is sent as JSON. */
  readonly body?: Buffer | string | object;
  readonly connection?: ConnectionInfo;
  readonly signal?: AbortSignal;
}

export interface InProcessResponse {
  readonly status: number;
  readonly headers: ResponseHeaders;
  /** The whole body; for a stream, all data up to its end. */
  text(): Promise<string>;
  json<T = Record<string, unknown>>(): Promise<T>;
  /** The chunks of a stream as they arrive, until it ends for any reason. Leaving the loop closes the stream. */
  frames(): AsyncGenerator<string, void, undefined>;
}

export async function callInProcess(handle: Handle, request: InProcessRequest): Promise<InProcessResponse> {
  const { method, target, headers = {}, body, connection = LOCAL, signal = neverAborts() } = request;
  const bytes = toBytes(body);
  const isJson = bytes.length > 0 && typeof body === "object" && !Buffer.isBuffer(body);
  const sent = {
    method,
    target,
    body: bytes,
    headers: { ...(isJson ? { "content-type": "application/json" } : {}), ...headers },
  };
  return new BufferedResponse(withoutUpgrade(await handle(toApiRequest(sent, { connection, signal }))), signal);
}

function toApiRequest(
  request: ClientRequest,
  from: Pick<ApiRequest, "connection" | "signal" | "condition">,
): ApiRequest {
  const question = request.target.indexOf("?");
  return {
    method: request.method,
    path: question < 0 ? request.target : request.target.slice(0, question),
    rawQuery: question < 0 ? "" : request.target.slice(question + 1),
    headers: request.headers,
    body: bufferedBody(Buffer.from(request.body ?? [])),
    ...from,
  };
}

function toBytes(body: InProcessRequest["body"]): Buffer {
  if (body === undefined) return Buffer.alloc(0);
  if (Buffer.isBuffer(body)) return body;
  return Buffer.from(typeof body === "string" ? body : JSON.stringify(body));
}

class BufferedResponse implements InProcessResponse {
  readonly status: number;
  readonly headers: ResponseHeaders;
  readonly #response: ApiResponse;
  readonly #signal: AbortSignal;

  constructor(response: ApiResponse, signal: AbortSignal) {
    this.status = response.status;
    this.headers = response.headers;
    this.#response = response;
    this.#signal = signal;
  }

  async text(): Promise<string> {
    let text = "";
    for await (const frame of this.frames()) text += frame;
    return text;
  }

  async json<T>(): Promise<T> {
    return JSON.parse(await this.text()) as T;
  }

  async *frames(): AsyncGenerator<string, void, undefined> {
    try {
      for await (const chunk of bodyChunks(this.#response, this.#signal)) yield chunk.toString("utf8");
    } catch (thrown) {
      if (!isFailure(thrown, "reset") && !isFailure(thrown, "aborted")) throw thrown;
    }
  }
}

async function* bodyChunks({ body }: ApiResponse, signal: AbortSignal): AsyncGenerator<Buffer, void, undefined> {
  if (body.kind === "bytes") yield Buffer.concat(body.chunks);
  if (body.kind === "stream") yield* streamPieces(body, new ReaderSink(bytesIn), signal);
}

function bytesIn({ bytes }: StreamFrame): Buffer {
  return bytes;
}

function eventIn(frame: StreamFrame): Buffer | SharedEvent {
  return frame.event ?? frame.bytes;
}

async function* streamPieces<Piece extends Buffer | SharedEvent>(
  body: StreamBody,
  sink: ReaderSink<Piece>,
  signal: AbortSignal,
): AsyncGenerator<Piece, void, undefined> {
  const onAbort = (): void => sink.finish("aborted");
  body.open(sink);
  signal.addEventListener("abort", onAbort, { once: true });
  if (signal.aborted) onAbort();
  try {
    for (;;) {
      const piece = sink.take();
      if (piece !== undefined) yield piece;
      else if (sink.ending === "complete") return;
      else if (sink.ending === "cut") throw new TransportError("reset", "the stream was interrupted");
      else if (sink.ending === "aborted") throw abortedError(signal);
      else await sink.changed();
    }
  } finally {
    signal.removeEventListener("abort", onAbort);
    sink.finish("aborted");
  }
}

type StreamBody = Extract<ResponseBody, { kind: "stream" }>;

/** The size of an event as a value in the buffer of a stream. */
const EVENT_BYTES = 1024;

/** The reading end of a stream. */
class ReaderSink<Piece extends Buffer | SharedEvent> implements StreamSink {
  readonly #pieceIn: (frame: StreamFrame) => Piece;
  #pieces: Piece[] = [];
  #bytes = 0;
  #isFull = false;
  readonly #onClose: (() => void)[] = [];
  readonly #onDrain: (() => void)[] = [];
  #wake: () => void = () => {};
  ending: "complete" | "cut" | "aborted" | undefined;

  constructor(pieceIn: (frame: StreamFrame) => Piece) {
    this.#pieceIn = pieceIn;
  }

  write(frame: StreamFrame): boolean {
    if (this.ending !== undefined) return false;
    const piece = this.#pieceIn(frame);
    this.#pieces.push(piece);
    this.#bytes += bytesOf(piece);
    this.#isFull = this.#bytes > IN_PROCESS_BUFFER_BYTES;
    this.#wake();
    return !this.#isFull;
  }

  bufferedBytes(): number {
    return this.#bytes;
  }

  onDrain(callback: () => void): void {
    this.#onDrain.push(callback);
  }

  onClose(callback: () => void): void {
    if (this.ending === undefined) this.#onClose.push(callback);
    else callback();
  }

  end(): void {
    this.finish("complete");
  }

  abort(): void {
    this.finish("cut");
  }

  /** Only the first call has an effect. */
  finish(ending: NonNullable<ReaderSink<Piece>["ending"]>): void {
    if (this.ending !== undefined) return;
    this.ending = ending;
    if (ending !== "complete") this.#pieces = [];
    for (const callback of this.#onClose) callback();
    this.#wake();
  }

  take(): Piece | undefined {
    const piece = this.#pieces.shift();
    if (piece === undefined) return undefined;
    this.#bytes -= bytesOf(piece);
    if (this.#isFull && this.#bytes <= IN_PROCESS_BUFFER_BYTES) {
      this.#isFull = false;
      for (const callback of this.#onDrain) callback();
    }
    return piece;
  }

  changed(): Promise<void> {
    return new Promise((resolve) => {
      this.#wake = resolve;
    });
  }
}

function bytesOf(piece: Buffer | SharedEvent): number {
  return piece instanceof Buffer ? piece.length : EVENT_BYTES;
}

/**
 * If the signal aborts, the handler continues, as on a server whose client has disconnected; its response is dropped.
 */
async function unlessAborted(answer: Promise<ApiResponse>, signal: AbortSignal): Promise<ApiResponse> {
  const { promise, reject } = Promise.withResolvers<never>();
  const onAbort = (): void => {
    reject(abortedError(signal));
    void answer.then(discardResponse, () => {});
  };
  signal.addEventListener("abort", onAbort, { once: true });
  try {
    return await Promise.race([answer, promise]);
  } finally {
    signal.removeEventListener("abort", onAbort);
  }
}

function withoutUpgrade(response: ApiResponse): ApiResponse {
  if (response.body.kind !== "upgrade") return response;
  discardResponse(response);
  throw new TransportError("malformed", "the server switched protocols, which needs a socket");
}

function neverAborts(): AbortSignal {
  return new AbortController().signal;
}
