/**
 * Opens many watches: one HTTP/1.1 connection each, or several streams per HTTP/2 connection. It counts events by the
 * bytes that end them, and keeps the text of one watcher only.
 */
import type { ClientHttp2Session, ClientHttp2Stream } from "node:http2";
import type { TLSSocket } from "node:tls";
import { openSocket } from "./http1.ts";
import { openSession } from "./http2.ts";
import type { Endpoint } from "./protocol.ts";
import { requestBytes } from "./request-bytes.ts";

const EVENT_END = Buffer.from("}\n");
const HEAD_END = "\r\n\r\n";
/** Maximum number of concurrent TLS handshakes. */
const CONNECTING_MAX = 50;

export interface WatchTarget extends Endpoint {
  readonly token: string;
  readonly path: string;
  readonly count: number;
  readonly perConnection?: number;
}

export class Watchers {
  readonly #connections: (TLSSocket | ClientHttp2Session)[] = [];
  #watches = 0;
  #awaited = 0;
  #onAll: ((outcome: Error | undefined) => void) | undefined;
  #bytes = 0;
  #lastText = "";

  static async open(target: WatchTarget): Promise<Watchers> {
    const watchers = new Watchers();
    const { count, perConnection } = target;
    const connections = Math.ceil(count / (perConnection ?? 1));
    const add = (): Promise<void> =>
      perConnection === undefined ? watchers.#add(target) : watchers.#addShared(target, perConnection);
    for (let opened = 0; opened < connections; opened += CONNECTING_MAX) {
      const batch = Math.min(CONNECTING_MAX, connections - opened);
      await Promise.all(Array.from({ length: batch }, add));
    }
    return watchers;
  }

  get bytes(): number {
    return this.#bytes;
  }

  /** The line of the last event, as the first watcher received it. */
  get lastEvent(): string {
    return /\{.*\}\n/.exec(this.#lastText)?.[0] ?? "";
  }

  /** Resolves when every watcher has received one more event. */
  nextEvent(): Promise<void> {
    return new Promise((resolve, reject) => {
      this.#awaited = this.#watches;
      this.#lastText = "";
      this.#onAll = (error) => (error === undefined ? resolve() : reject(error));
    });
  }

  close(): void {
    this.#onAll = undefined;
    for (const connection of this.#connections) connection.destroy();
  }

  async #add(target: WatchTarget): Promise<void> {
    const socket = await openSocket(target);
    this.#connections.push(socket);
    await this.#begin(socket, target);
    this.#follow(socket);
  }

  async #addShared({ port, path, token }: WatchTarget, streams: number): Promise<void> {
    const session = await openSession(port);
    this.#connections.push(session);
    const open = async (): Promise<void> => {
      const stream = session.request({ ":path": path, authorization: `Bearer ${token}`, accept: "application/json" });
      await new Promise<void>((resolve, reject) => {
        stream.once("error", reject);
        stream.once("response", (headers) => {
          const status = headers[":status"];
          if (status === 200) resolve();
          else reject(new Error(`a watch got the status ${status}`));
        });
      });
      this.#follow(stream);
    };
    await Promise.all(Array.from({ length: streams }, open));
  }

  /** Counts the events of one watch. */
  #follow(socket: TLSSocket | ClientHttp2Stream): void {
    const isFirst = this.#watches === 0;
    this.#watches++;
    let endedInBrace = false;
    socket.on("data", (chunk: Buffer) => {
      this.#bytes += chunk.length;
      if (isFirst) this.#lastText += chunk.toString("latin1");
      let found = endedInBrace && chunk[0] === EVENT_END[1] ? 1 : 0;
      for (let at = chunk.indexOf(EVENT_END); at >= 0; at = chunk.indexOf(EVENT_END, at + 2)) found++;
      endedInBrace = chunk.at(-1) === EVENT_END[0];
      if (found > 0) this.#count(found);
    });
    const failed = (error?: Error): void => this.#onAll?.(error ?? new Error("the server ended a watch"));
    socket.on("error", failed);
    socket.on("close", () => failed());
  }

  #begin(socket: TLSSocket, { path, token }: WatchTarget): Promise<void> {
    return new Promise((resolve, reject) => {
      let head = "";
      const read = (chunk: Buffer): void => {
        head += chunk.toString("latin1");
        if (!head.includes(HEAD_END)) return;
        socket.off("data", read);
        if (head.startsWith("HTTP/1.1 200")) resolve();
        else reject(new Error(`a watch got the response ${head.slice(0, 200)}`));
      };
      socket.on("data", read);
      socket.once("error", reject);
      socket.write(requestBytes({ method: "GET", path, expectStatus: 200 }, 0, token));
    });
  }

  #count(found: number): void {
    this.#awaited -= found;
    if (this.#awaited > 0) return;
    const onAll = this.#onAll;
    this.#onAll = undefined;
    onAll?.(undefined);
  }
}
