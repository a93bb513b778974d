/** A plain HTTP/1.1 client over TLS. Tests see every response, and how a stream ended. */
import { once } from "node:events";
import type { IncomingHttpHeaders, IncomingMessage } from "node:http";
import { request as httpsRequest, type Agent } from "node:https";

/** Tests read responses without types: if a field is missing, the expectation fails and not the compilation. */
export type Json = any; // oxlint-disable-line typescript/no-explicit-any -- responses are untyped

export interface Target {
  readonly url: string;
  readonly port: number;
  readonly ca: string;
  readonly token: string;
  readonly agent: Agent;
}

export interface SmokeResponse {
  readonly status: number;
  readonly headers: IncomingHttpHeaders;
  readonly text: string;
  /** The parsed text; undefined if it is not JSON. */
  readonly body: Json;
}

export interface Ask {
  readonly method: string;
  readonly path: string;
  /** The request body: bytes are sent as they are, other values as JSON. */
  readonly body?: unknown;
  readonly headers?: Record<string, string>;
}

export async function ask(target: Target, { method, path, body, headers = {} }: Ask): Promise<SmokeResponse> {
  const bytes = body === undefined ? undefined : Buffer.isBuffer(body) ? body : Buffer.from(JSON.stringify(body));
  const request = httpsRequest(target.url + path, {
    agent: target.agent,
    ca: target.ca,
    method,
    headers: {
      authorization: `Bearer ${target.token}`,
      ...(bytes === undefined ? {} : { "content-type": "application/json" }),
      ...(bytes === undefined || headers["transfer-encoding"] !== undefined
        ? {}
        : { "content-length": String(bytes.length) }),
      ...headers,
    },
  });
  request.end(bytes);
  const [response] = (await once(request, "response")) as [IncomingMessage];
  let text = "";
  for await (const chunk of response.setEncoding("utf8")) text += chunk;
  return { status: response.statusCode!, headers: response.headers, text, body: parsed(text) };
}

function parsed(text: string): Json {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

/** How a stream ended: with a complete body, by a broken connection, or by this client. */
export type StreamEnd = "complete" | "cut" | "closed here";

export interface WatchEvent {
  readonly type: string;
  readonly name: string;
  readonly rv: number;
  readonly object: Json;
}

/** A watch on its own connection. */
export class Watch {
  readonly events: WatchEvent[] = [];
  readonly opened: Promise<number>;
  readonly ended: Promise<StreamEnd>;
  readonly #request;
  readonly #waiting = new Set<() => void>();
  #isClosedHere = false;
  #rest = "";

  constructor(target: Target, path: string) {
    this.#request = httpsRequest(target.url + path, {
      agent: false,
      ca: target.ca,
      headers: { authorization: `Bearer ${target.token}` },
    });
    const opened = Promise.withResolvers<number>();
    const ended = Promise.withResolvers<StreamEnd>();
    this.opened = opened.promise;
    this.ended = ended.promise;
    this.#request.on("error", (error) => {
      opened.reject(error);
      ended.resolve(this.#isClosedHere ? "closed here" : "cut");
    });
    this.#request.on("response", (response) => {
      opened.resolve(response.statusCode!);
      response.setEncoding("utf8").on("data", (text: string) => this.#take(text));
      response.on("error", () => undefined);
      response.on("close", () =>
        ended.resolve(this.#isClosedHere ? "closed here" : response.complete ? "complete" : "cut"),
      );
    });
    opened.promise.catch(() => {});
    this.#request.end();
  }

  /** Resolves when the events satisfy the condition; rejects if the stream ends first. */
  async until(condition: (events: readonly WatchEvent[]) => boolean): Promise<void> {
    const ended = this.ended.then((how) => {
      if (!condition(this.events)) throw new Error(`the watch ended (${how}) after ${this.events.length} events`);
    });
    while (!condition(this.events)) await Promise.race([ended, this.#more()]);
  }

  close(): void {
    this.#isClosedHere = true;
    this.#request.destroy();
  }

  [Symbol.dispose](): void {
    this.close();
  }

  #more(): Promise<void> {
    return new Promise((resolve) => {
      this.#waiting.add(resolve);
    });
  }

  #take(text: string): void {
    const lines = (this.#rest + text).split("\n");
    this.#rest = lines.pop()!;
    for (const line of lines) {
      const { type, object } = JSON.parse(line);
      this.events.push({
        type,
        name: object.metadata?.name ?? "",
        rv: Number(object.metadata?.resourceVersion),
        object,
      });
    }
    for (const resolve of this.#waiting) resolve();
    this.#waiting.clear();
  }
}

export const CONFIG_MAPS = "/api/v1/namespaces/default/configmaps";

export function configMap(name: string, data: Record<string, string> = { a: "1" }): Json {
  return { apiVersion: "v1", kind: "ConfigMap", metadata: { name }, data };
}

/** Counts responses by status: { "201": 12, "503": 3 }. */
export class Tally {
  readonly counts: Record<string, number> = {};

  add(what: string | number): void {
    this.counts[what] = (this.counts[what] ?? 0) + 1;
  }
}
