/**
 * A minimal keep-alive HTTP/1.1 client. It sends one request at a time per connection, and supports only responses with
 * content-length. `send` counts the bytes of the body and discards them; `fetch` returns the body.
 */
import { connect, type TLSSocket } from "node:tls";
import { requestBytes } from "./request-bytes.ts";
import type { FetchResult, RequestShape } from "./protocol.ts";

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
  /** Missing bytes of the body; negative while the head is being read. */
  #missing = -1;
  #bytes = 0;
  #kept: Buffer[] | undefined;
  #settle: { resolve: (answered: ResponseSummary) => void; reject: (error: Error) => void } | undefined;

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
    this.#missing -= body.length;
    this.#kept?.push(body);
    if (this.#missing > 0) return;
    const settle = this.#settle;
    this.#settle = undefined;
    settle?.resolve({ status: this.#status, bytes: this.#bytes });
  }

  #readHead(text: string): void {
    this.#headText = text;
    this.#status = Number(text.slice(9, 12));
    const length = /\r\ncontent-length: *([0-9]+)/i.exec(text);
    if (length === null) return this.#fail(new Error("a response has no content-length"));
    this.#missing = Number(length[1]);
  }

  #fail(error: Error): void {
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

export async function openHttp1(port: number, token: string): Promise<Requester> {
  return new Http1Connection(await openSocket(port), token);
}

export function openSocket(port: number): Promise<TLSSocket> {
  return new Promise((resolve, reject) => {
    // The client does not verify certificates, neither that of our server nor that of the floor.
    const socket = connect({ host: "127.0.0.1", port, rejectUnauthorized: false, ALPNProtocols: ["http/1.1"] });
    socket.setNoDelay(true);
    socket.once("error", reject);
    socket.once("secureConnect", () => {
      socket.off("error", reject);
      resolve(socket);
    });
  });
}
