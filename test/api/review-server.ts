/**
 * The base class of test webhooks. It serves real TLS and records every review that it receives; the subclass sends the
 * response.
 */
import { once } from "node:events";
import type { ServerResponse } from "node:http";
import { createServer, type Server } from "node:https";
import type { AddressInfo } from "node:net";
import { createServingCertificate } from "../../src/serving/http/node/serving-certificate.ts";
import type { Json } from "./start.ts";

export abstract class ReviewServer implements AsyncDisposable {
  /** The received reviews, in order. */
  readonly requests: Json[] = [];
  readonly targets: string[] = [];
  readonly #certificate = createServingCertificate({
    hosts: ["127.0.0.1", "hook.default.svc"],
    commonName: "hook",
    nowMs: Date.now(),
  });
  #server: Server | undefined;
  port = 0;

  protected abstract respond(review: Json, path: string, response: ServerResponse): void;

  get caBundle(): string {
    return Buffer.from(this.#certificate.caPem).toString("base64");
  }

  async start(): Promise<void> {
    const { certPem: cert, keyPem: key } = this.#certificate;
    const server = createServer({ cert, key }, (request, response) => {
      const chunks: Buffer[] = [];
      request.on("data", (chunk: Buffer) => chunks.push(chunk));
      request.on("end", () => {
        this.targets.push(request.url ?? "");
        const review = JSON.parse(Buffer.concat(chunks).toString());
        this.requests.push(review);
        this.respond(review, new URL(`https://h${request.url}`).pathname, response);
      });
    });
    server.listen(this.port, "127.0.0.1");
    await once(server, "listening");
    this.port = (server.address() as AddressInfo).port;
    this.#server = server;
  }

  async stop(): Promise<void> {
    const server = this.#server;
    if (server === undefined) return;
    this.#server = undefined;
    const closed = once(server, "close");
    server.close();
    server.closeAllConnections();
    await closed;
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.stop();
  }
}
