/**
 * Handles HTTP/1.1 upgrade requests. Node's server releases the socket of such a request before the handler has decided
 * whether to upgrade. So if the handler does not upgrade, this file sends the ordinary response itself and ends the
 * connection.
 */
import { type IncomingMessage, ServerResponse } from "node:http";
import type { Socket } from "node:net";
import type { Duplex } from "node:stream";

import type { ResponseHeaders } from "../message.ts";

/**
 * Headers that a handler cannot set: Node and the code of this folder decide how a body is framed and, except for
 * `close`, whether the connection is kept.
 */
export const FRAMING_HEADERS: ReadonlySet<string> = new Set([
  "content-length",
  "transfer-encoding",
  "connection",
  "keep-alive",
]);

/**
 * True if Node should release the socket. Requests with a body, and requests that Node itself rejects, stay ordinary:
 * they receive a response but cannot be upgraded.
 */
export function canUpgrade(request: IncomingMessage): boolean {
  return request.httpVersion === "1.1" && request.headers.host !== undefined && !hasBody(request);
}

export function hasBody({ headers }: IncomingMessage): boolean {
  return headers["transfer-encoding"] !== undefined || (headers["content-length"] ?? "0") !== "0";
}

/**
 * Time for which the connection stays open after the last response, so that a client that is still sending can read the
 * response.
 */
const LINGER_MS = 1_000;

/**
 * Ends the connection so that the client receives the last response. Closing at once would reset the connection while
 * bytes from the client are in flight, and the response would be lost. So these bytes are read and discarded for a
 * short time.
 */
export function lingeringEnd(stream: Duplex, lastBytes?: string): void {
  if (lastBytes === undefined) stream.end();
  else stream.end(lastBytes);
  stream.resume();
  setTimeout(() => stream.destroy(), LINGER_MS).unref();
}

export class UpgradeResponse {
  readonly response: ServerResponse;
  readonly #socket: Socket;

  /** `head` has the bytes that the client sent after its request. They may be the start of the other protocol. */
  constructor(request: IncomingMessage, head: Buffer) {
    const { socket } = request;
    // The bytes are put back immediately, because that is impossible once the stream has ended, and the client can end
    // it at any time.
    if (head.length > 0) socket.unshift(head);
    this.#socket = socket;
    this.response = new ServerResponse(request);
    this.response.shouldKeepAlive = false;
    this.response.assignSocket(socket);
    this.response.on("finish", () => {
      this.#letGo();
      lingeringEnd(socket);
    });
    socket.on("drain", this.#onDrain);
  }

  /** Writes the response and returns the socket; undefined if the client has disconnected. */
  switchProtocols(headers: ResponseHeaders): Socket | undefined {
    const socket = this.#socket;
    if (!socket.writable) {
      socket.destroy();
      return undefined;
    }
    this.response.writeHead(101, switchingHeaders(headers));
    this.response.flushHeaders();
    this.#letGo();
    return socket;
  }

  readonly #onDrain = (): void => void this.response.emit("drain");

  #letGo(): void {
    this.#socket.off("drain", this.#onDrain);
    this.response.detachSocket(this.#socket);
  }
}

function switchingHeaders(headers: ResponseHeaders): (string | string[])[] {
  const flat = Object.entries(headers).filter(([name]) => !FRAMING_HEADERS.has(name));
  return ["connection", "Upgrade", ...flat.flat()];
}
