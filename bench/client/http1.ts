/**
 * A minimal keep-alive HTTP/1.1 client. It sends one request at a time per connection. `send` counts the bytes of the
 * body and discards them; `fetch` returns the body.
 */
import { isIP } from "node:net";
import { connect, type TLSSocket } from "node:tls";
import { ChunkedBody } from "./chunked-body.ts";
import { requestBytes } from "./request-bytes.ts";
import type { Endpoint, FetchResult, RequestShape } from "./protocol.ts";

export interface ResponseSummary {
  readonly status: number;
  readonly bytes: number;
}

/** Sends requests over one connection. */
export interface Requester {
  send(request: RequestShape, number: number): Promise<ResponseSummary>;
  fetch(request: RequestShape, number: number): Promise<FetchResult>;
  close(): void;
}

const HEAD_END = Buffer.from("\r\n\r\n");

class Http1Connection implements Requester {
  readonly #socket: TLSSocket;
  readonly #token: string;
  #head: Buffer = Buffer.alloc(0);
  #status = 0;
  #headText = "";
  /** Missing bytes of a body with content-length; negative while the head is being read. */
  #missing = -1;
  /** Set while a body in chunked encoding is being read. */
  #chunks: ChunkedBody | undefined;
  #bytes = 0;
  #kept: Buffer[] | undefined;
  #settle: { resolve: (answered: ResponseSummary) => void; reject: (error: Error) => void } | undefined;
  /** Why no request can be sent any more. */
  #failure: Error | undefined;

  constructor(socket: TLSSocket, token: string) {
    this.#socket = socket;
    this.#token = token;
    socket.on("data", (chunk: Buffer) => this.#read(chunk));
    socket.on("error", (error: Error) => this.#fail(error));
    socket.on("close", () => this.#fail(new Error("the server closed the connection")));
  }

  send(request: RequestShape, number: number): Promise<ResponseSummary> {
    this.#kept = undefined;
    return this.#exchange(request, number);
  }

  async fetch(request: RequestShape, number: number): Promise<FetchResult> {
    const kept: Buffer[] = [];
    this.#kept = kept;
    const { status } = await this.#exchange(request, number);
    const body = Buffer.concat(kept).toString("latin1");
    if (status !== request.expectStatus)
      throw new Error(`${request.method} ${request.path} returned ${status}: ${body.slice(0, 500)}`);
    return { headers: headersOf(this.#headText), body };
  }

  close(): void {
    this.#settle = undefined;
    this.#socket.destroy();
  }

  #exchange(request: RequestShape, number: number): Promise<ResponseSummary> {
    if (this.#failure !== undefined) return Promise.reject(this.#failure);
    if (this.#settle !== undefined) return Promise.reject(new Error("every outstanding request needs a connection"));
    return new Promise((resolve, reject) => {
      this.#settle = { resolve, reject };
      this.#missing = -1;
      this.#bytes = 0;
      this.#socket.write(requestBytes(request, number, this.#token));
    });
  }

  #read(chunk: Buffer): void {
    this.#bytes += chunk.length;
    let body = chunk;
    if (this.#missing < 0) {
      const head = this.#head.length === 0 ? chunk : Buffer.concat([this.#head, chunk]);
      const end = head.indexOf(HEAD_END);
      if (end < 0) {
        this.#head = head;
        return;
      }
      this.#head = Buffer.alloc(0);
      this.#readHead(head.toString("latin1", 0, end));
      body = head.subarray(end + HEAD_END.length);
    }
    if (this.#isIncomplete(body)) return;
    this.#chunks = undefined;
    const settle = this.#settle;
    this.#settle = undefined;
    settle?.resolve({ status: this.#status, bytes: this.#bytes });
  }

  /** Reads a part of the body. Returns true if more is missing. */
  #isIncomplete(body: Buffer): boolean {
    if (this.#chunks !== undefined) return !this.#chunks.read(body);
    this.#missing -= body.length;
    this.#kept?.push(body);
    return this.#missing > 0;
  }

  #readHead(text: string): void {
    this.#headText = text;
    this.#status = Number(text.slice(9, 12));
    if (/\r\ntransfer-encoding: *chunked/i.test(text)) {
      this.#missing = 0;
      this.#chunks = new ChunkedBody((data) => this.#kept?.push(data));
      return;
    }
    const length = /\r\ncontent-length: *([0-9]+)/i.exec(text);
    if (length === null) return this.#fail(new Error("a response has neither content-length nor chunked encoding"));
    this.#missing = Number(length[1]);
  }

  #fail(error: Error): void {
    this.#failure ??= error;
    const settle = this.#settle;
    this.#settle = undefined;
    settle?.reject(error);
  }
}

function headersOf(head: string): [string, string][] {
  return head
    .split("\r\n")
    .slice(1)
    .map((line) => {
      const colon = line.indexOf(":");
      return [line.slice(0, colon).toLowerCase(), line.slice(colon + 1).trim()];
    });
}

export async function openHttp1(endpoint: Endpoint, token: string): Promise<Requester> {
  return new Http1Connection(await openSocket(endpoint), token);
}

/** Without `trust`, the certificate is not verified: neither that of our server nor that of the floor is. */
export function openSocket({ host = "127.0.0.1", port, trust }: Endpoint): Promise<TLSSocket> {
  return new Promise((resolve, reject) => {
    const socket = connect({
      host,
      port,
      ...(isIP(host) === 0 ? { servername: host } : {}),
      rejectUnauthorized: trust !== undefined,
      ...(trust?.ca === undefined ? {} : { ca: trust.ca }),
      ALPNProtocols: ["http/1.1"],
    });
    socket.setNoDelay(true);
    socket.once("error", reject);
    socket.once("secureConnect", () => {
      socket.off("error", reject);
      resolve(socket);
    });
  });
}
