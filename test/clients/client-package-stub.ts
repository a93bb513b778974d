/** A TLS server that responds from a script and records its requests, and a clock whose waits end at once. */
import { once } from "node:events";
import type { IncomingHttpHeaders, IncomingMessage, ServerResponse } from "node:http";
import { createServer, type Server } from "node:https";
import type { AddressInfo, Socket } from "node:net";
import type * as ClientNodeModule from "@kubernetes/client-node";
import type { withEvenkeel } from "../../src/client/client-node/with-evenkeel.ts";
import { createServingCertificate } from "../../src/serving/http/node/serving-certificate.ts";
import type { Clock } from "../../src/client/index.ts";

export type ClientNode = typeof ClientNodeModule;
export type KubeConfig = InstanceType<ClientNode["KubeConfig"]>;

/** The type of `withEvenkeel` in the built package. */
export type WithEvenkeel = typeof withEvenkeel;

export interface RecordedRequest {
  readonly method: string;
  readonly target: string;
  readonly headers: IncomingHttpHeaders;
  readonly body: string;
}

export interface Reply {
  readonly status: number;
  readonly headers?: Record<string, string>;
  readonly body?: unknown;
  /** True if the response stays open, as that of a watch. */
  readonly isOpen?: boolean;
}

export const EARLY: Reply = {
  status: 503,
  headers: { "retry-after": "5", "x-kubernetes-ready": "false", "content-type": "text/plain" },
  body: "The APIServer has not fully initialized yet, please try again later.\n",
};

export function ready(body: unknown, status = 200): Reply {
  return { status, headers: { "x-kubernetes-ready": "true" }, body };
}

export class Stub implements AsyncDisposable {
  readonly received: RecordedRequest[] = [];
  /** Responses in order. After the last one, the server returns an empty object. */
  readonly script: (Reply | "reset")[] = [];
  /** How many of the next connections break before the handshake. */
  connectionsToBreak = 0;
  readonly #certificate = createServingCertificate({ hosts: ["127.0.0.1"], commonName: "stub", nowMs: Date.now() });
  readonly #server: Server;
  readonly #waiting = new Set<() => void>();
  #port = 0;

  constructor() {
    const { certPem: cert, keyPem: key } = this.#certificate;
    this.#server = createServer({ cert, key }, (request, response) => void this.#answer(request, response));
    this.#server.on("connection", (socket: Socket) => {
      if (this.connectionsToBreak > 0 && this.connectionsToBreak--) socket.destroy();
    });
    this.#server.on("upgrade", (request, socket) => {
      this.#note(request, "");
      socket.end("HTTP/1.1 403 Forbidden\r\nContent-Length: 0\r\nConnection: close\r\n\r\n");
    });
  }

  static async start(...script: (Reply | "reset")[]): Promise<Stub> {
    const stub = new Stub();
    stub.script.push(...script);
    await stub.listen();
    return stub;
  }

  /** Listens on the same port as before, if it has listened before. */
  async listen(): Promise<void> {
    this.#server.listen(this.#port, "127.0.0.1");
    await once(this.#server, "listening");
    this.#port = (this.#server.address() as AddressInfo).port;
  }

  async close(): Promise<void> {
    if (!this.#server.listening) return;
    this.#server.closeAllConnections();
    this.#server.close();
    await once(this.#server, "close");
  }

  get lines(): string[] {
    return this.received.map(({ method, target }) => `${method} ${target}`);
  }

  async untilRequests(count: number): Promise<void> {
    while (this.received.length < count) await new Promise<void>((resolve) => this.#waiting.add(resolve));
  }

  configFor({ KubeConfig: Config }: ClientNode): KubeConfig {
    const config = new Config();
    config.loadFromOptions({
      clusters: [
        {
          name: "stub",
          server: `https://127.0.0.1:${this.#port}`,
          skipTLSVerify: false,
          caData: Buffer.from(this.#certificate.caPem).toString("base64"),
        },
      ],
      users: [{ name: "tester", token: "secret" }],
      contexts: [{ name: "stub", cluster: "stub", user: "tester" }],
      currentContext: "stub",
    });
    return config;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.close();
  }

  #note({ method = "", url = "", headers }: IncomingMessage, body: string): void {
    this.received.push({ method, target: url, headers, body });
    for (const wake of this.#waiting) wake();
    this.#waiting.clear();
  }

  async #answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
    let body = "";
    for await (const chunk of request.setEncoding("utf8")) body += chunk;
    const reply = this.script.shift() ?? { status: 200 };
    if (reply === "reset") request.socket.destroy();
    else {
      response.writeHead(reply.status, { "content-type": "application/json", ...reply.headers });
      response.write(typeof reply.body === "string" ? reply.body : JSON.stringify(reply.body ?? {}));
      if (reply.isOpen !== true) response.end();
    }
    this.#note(request, body);
  }
}

/** A clock whose waits end at once. It records each wait and advances by it. */
export class ImmediateClock implements Clock {
  readonly waitsMs: number[] = [];
  /** Called before a wait ends. */
  onWait: () => Promise<void> = async () => {};
  #now = 0;

  now(): number {
    return this.#now;
  }

  monotonic(): number {
    return this.#now;
  }

  after(delayMs: number, callback: () => void): () => void {
    this.waitsMs.push(delayMs);
    const wait = { delayMs, callback };
    void this.#end(wait);
    return () => {
      wait.callback = () => {};
    };
  }

  async #end(wait: { readonly delayMs: number; callback: () => void }): Promise<void> {
    await Promise.resolve();
    await this.onWait();
    this.#now += wait.delayMs;
    wait.callback();
  }
}
