/**
 * Requests that ask for another protocol. Node's server lets go of their sockets before anybody has decided whether
 * there will be one, so what it does for every other response is done here: ordinary answers are sent, too, and end
 * the connection.
 */
import { type IncomingMessage, ServerResponse } from "node:http";
import type { Socket } from "node:net";
import type { Duplex } from "node:stream";

import type { ResponseHeaders } from "../message.ts";

/** Node and these files decide how a body is framed and, except for `close`, whether a connection goes on. */
export const FRAMING_HEADERS: ReadonlySet<string> = new Set([
  "content-length",
  "transfer-encoding",
  "connection",
  "keep-alive",
]);

/**
 * Whether Node is to let go of the socket. Requests with a body, and those that Node itself refuses, stay ordinary
 * ones: they are answered, but cannot become anything else.
 */
export function canUpgrade(request: IncomingMessage): boolean {
  return request.httpVersion === "1.1" && request.headers.host !== undefined && !hasBody(request);
}

export function hasBody({ headers }: IncomingMessage): boolean {
  return headers["transfer-encoding"] !== undefined || (headers["content-length"] ?? "0") !== "0";
}

/** A client that is still sending when its connection ends has this long to read the answer. */
const LINGER_MS = 1_000;

/**
 * Ends the connection so that its last answer arrives. Closing at once would reset it while bytes of the client are
 * under way, and the answer be lost; so those are read and thrown away for a moment.
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

  /** `head` is what the client sent behind its request. It may be the start of the other protocol. */
  constructor(request: IncomingMessage, head: Buffer) {
    const { socket } = request;
    // At once: behind the end of the client's bytes, which may come any time, nothing can be put back.
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

  /** The socket, on which the answer is on its way; undefined when nobody is at its other end any more. */
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
