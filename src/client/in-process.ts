/** Calls a server without a socket: the same chain, the same checks, plain values in and out. */
import { BodyTooLargeError, type ApiRequest, type ApiResponse, type ConnectionInfo, type Frame, type ResponseHeaders, type StreamSink } from "../http/message.ts";

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
  /** The whole body; of a stream: what had arrived when it ended. */
  text(): Promise<string>;
  json<T = Record<string, unknown>>(): Promise<T>;
  /** Pieces of a stream as they arrive; leaving the loop closes the stream. */
  frames(): AsyncGenerator<string, void, undefined>;
}

const LOCAL: ConnectionInfo = { protocol: "in-process", remoteAddress: "in-process", clientCertificate: undefined };

export async function callInProcess(handle: (request: ApiRequest) => Promise<ApiResponse>, request: InProcessRequest): Promise<InProcessResponse> {
  const question = request.target.indexOf("?");
  const body = toBytes(request.body);
  const response = await handle({
    method: request.method,
    path: question < 0 ? request.target : request.target.slice(0, question),
    rawQuery: question < 0 ? "" : request.target.slice(question + 1),
    headers: { ...(body.length > 0 && typeof request.body === "object" && !Buffer.isBuffer(request.body) ? { "content-type": "application/json" } : {}), ...request.headers },
    body: { read: (limit) => (body.length > limit ? Promise.reject(new BodyTooLargeError("the body is too large")) : Promise.resolve(body)) },
    connection: request.connection ?? LOCAL,
    signal: request.signal ?? new AbortController().signal,
  });
  return new Answer(response);
}

function toBytes(body: InProcessRequest["body"]): Buffer {
  if (body === undefined) return Buffer.alloc(0);
  if (Buffer.isBuffer(body)) return body;
  return Buffer.from(typeof body === "string" ? body : JSON.stringify(body));
}

class Answer implements InProcessResponse {
  readonly status: number;
  readonly headers: ResponseHeaders;
  readonly #body: ApiResponse["body"];

  constructor(response: ApiResponse) {
    this.status = response.status;
    this.headers = response.headers;
    this.#body = response.body;
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
    const body = this.#body;
    if (body.kind === "bytes") yield Buffer.concat(body.chunks).toString("utf8");
    if (body.kind !== "stream") return;
    const sink = new CollectingSink();
    body.open(sink);
    try {
      for (;;) {
        const frame = sink.take();
        if (frame !== undefined) yield frame;
        else if (sink.isEnded) return;
        else await sink.changed();
      }
    } finally {
      sink.close();
    }
  }
}

/** The reader's end of a stream. It never blocks the writer: in-process readers keep up or are tests. */
class CollectingSink implements StreamSink {
  #frames: string[] = [];
  #bytes = 0;
  #onClose: (() => void)[] = [];
  #wake: () => void = () => {};
  isEnded = false;

  write(frame: Frame): boolean {
    if (this.isEnded) return false;
    this.#frames.push(frame.bytes.toString("utf8"));
    this.#bytes += frame.bytes.length;
    this.#wake();
    return true;
  }

  bufferedBytes(): number {
    return this.#bytes;
  }

  onDrain(): void {}

  onClose(callback: () => void): void {
    this.#onClose.push(callback);
  }

  end(): void {
    this.close();
  }

  abort(): void {
    this.close();
  }

  close(): void {
    if (this.isEnded) return;
    this.isEnded = true;
    for (const callback of this.#onClose) callback();
    this.#wake();
  }

  take(): string | undefined {
    const frame = this.#frames.shift();
    if (frame !== undefined) this.#bytes -= Buffer.byteLength(frame);
    return frame;
  }

  changed(): Promise<void> {
    return new Promise((resolve) => {
      this.#wake = resolve;
    });
  }
}
