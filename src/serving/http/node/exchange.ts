/**
 * One request with its response, as far as HTTP/1.1 and HTTP/2 share the code: from the arrival of the headers until
 * the response has been sent or the client has disconnected. An exchange ends exactly once.
 */
import type { EventEmitter } from "node:events";
import type { TLSSocket } from "node:tls";

import { type ApiRequest, type ApiResponse, bytesBody, type ConnectionInfo } from "../message.ts";
import type { HttpLimits } from "./http-limits.ts";
import type { StreamFlush } from "./stream-flush.ts";

/** The parts of the listener that the code of a protocol uses. */
export interface Edge {
  readonly handle: (request: ApiRequest) => Promise<ApiResponse>;
  readonly log: (message: string, detail?: object) => void;
  readonly limits: HttpLimits;
  readonly streams: StreamFlush;
  requestOpened(): void;
  requestClosed(): void;
}

export interface Protocol {
  accept(socket: TLSSocket, connection: ConnectionInfo): void;
  /** Asks clients to reconnect to another server. Open requests continue. */
  drain(): void;
  /** Closes connections without open requests, and connections that have switched to another protocol. */
  closeIdle(): void;
  /** Stops timers and destroys the remaining connections. */
  destroy(): void;
}

export class ServedExchange {
  readonly #edge: Edge;
  readonly #abort = new AbortController();
  readonly #whenOver: (() => void)[] = [];
  #over = false;
  #isCounted = true;

  constructor(edge: Edge) {
    this.#edge = edge;
    edge.requestOpened();
  }

  get signal(): AbortSignal {
    return this.#abort.signal;
  }

  /** Aborts the signal of the request while the client is still connected. */
  abort(reason: unknown): void {
    this.#abort.abort(reason);
  }

  get over(): boolean {
    return this.#over;
  }

  /** Called when the whole response has been sent. */
  finish(): void {
    if (this.#over) return;
    this.#over = true;
    this.#stopCounting();
    for (const callback of this.#whenOver) this.call(callback);
  }

  /**
   * Called when the connection has switched to another protocol. It may stay open for ever, so the shutdown of the
   * listener does not wait for its end, as that of kube-apiserver does not.
   */
  switchedProtocols(): void {
    this.#stopCounting();
  }

  /** Called when the connection or stream has closed. Has no effect if the response has been sent. */
  clientGone(): void {
    if (this.#over) return;
    this.finish();
    this.#abort.abort();
  }

  /** Registers a callback, which is called once and never synchronously. */
  onOver(callback: () => void): void {
    if (this.#over) queueMicrotask(() => this.call(callback));
    else this.#whenOver.push(callback);
  }

  /** Called for each frame that the response, a stream, writes. */
  frameWritten(): void {
    this.#edge.streams.written();
  }

  /** Calls a callback of the server inside a socket event, where a throw would end the process. */
  call(callback: () => void): void {
    try {
      callback();
    } catch (error) {
      this.#edge.log("stream callback failed", { error });
    }
  }

  /**
   * Waits until the client has read. Resolves to false if the exchange is over, or if the client has read nothing for
   * too long.
   */
  drained(writable: EventEmitter): Promise<boolean> {
    if (this.#over) return Promise.resolve(false);
    return new Promise((resolve) => {
      const settle = (isDrained: boolean): void => {
        clearTimeout(timer);
        writable.off("drain", onDrain);
        const index = this.#whenOver.indexOf(onOver);
        if (index >= 0) this.#whenOver.splice(index, 1);
        resolve(isDrained);
      };
      const onDrain = (): void => settle(true);
      const onOver = (): void => settle(false);
      const timer = setTimeout(onOver, this.#edge.limits.stalledResponseMs);
      writable.on("drain", onDrain);
      this.#whenOver.push(onOver);
    });
  }

  #stopCounting(): void {
    if (!this.#isCounted) return;
    this.#isCounted = false;
    this.#edge.requestClosed();
  }

  /** Calls the handler. A handler should never throw. If it does, the response is a plain 500. */
  async respond(request: ApiRequest): Promise<ApiResponse> {
    try {
      const response = await this.#edge.handle(request);
      // A read has no watch event, so its response need not wait.
      if (request.method !== "GET" && this.#edge.streams.flushed !== undefined) await this.#edge.streams.flushed;
      return response;
    } catch (error) {
      this.#edge.log("request handler failed", { error, method: request.method, path: request.path });
      return plainText(500, "Internal Server Error");
    }
  }
}

export function plainText(status: number, text: string): ApiResponse {
  return {
    status,
    headers: { "content-type": "text/plain; charset=utf-8" },
    body: bytesBody(Buffer.from(`${text}\n`)),
  };
}

/** True for a status whose response never has a body and must not have a content-length. */
export function isBodiless(status: number): boolean {
  return status === 204 || status === 304 || status < 200;
}

/** True if the target is a path. An absolute URL, `*` and an authority are not served. */
export function isOriginForm(target: string | undefined): target is string {
  return target !== undefined && target.charCodeAt(0) === 0x2f;
}

export function splitTarget(target: string): { readonly path: string; readonly rawQuery: string } {
  const mark = target.indexOf("?");
  if (mark < 0) return { path: target, rawQuery: "" };
  return { path: target.slice(0, mark), rawQuery: target.slice(mark + 1) };
}
