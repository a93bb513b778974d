/** A webhook that answers AdmissionReviews as tests want it, behind real TLS. */
import { once } from "node:events";
import { createServer, type Server } from "node:https";
import type { AddressInfo } from "node:net";
import { createServingCertificate } from "../../src/serving/http/node/serving-certificate.ts";
import type { Json } from "./start.ts";

export class AdmissionWebhook implements AsyncDisposable {
  /** Of every request, in order. */
  readonly asked: Json[] = [];
  readonly targets: string[] = [];
  /** What is in the response to a request, or what takes the place of the whole answer. */
  answer: (request: Json, path: string) => Json = () => ({});
  readonly #certificate = createServingCertificate({
    hosts: ["127.0.0.1"],
    commonName: "hook",
    nowMs: Date.now(),
  });
  #server: Server | undefined;
  port = 0;

  /** Of a webhook that wants to see everything about ConfigMaps. */
  configuration(kind: "Mutating" | "Validating", name: string, ...webhooks: readonly Json[]): Json {
    return {
      apiVersion: "admissionregistration.k8s.io/v1",
      kind: `${kind}WebhookConfiguration`,
      metadata: { name },
      webhooks: webhooks.map(({ path = "/", ...given }) => ({
        name: `${name}.example.com`,
        clientConfig: {
          url: `https://127.0.0.1:${this.port}${path}`,
          caBundle: Buffer.from(this.#certificate.caPem).toString("base64"),
        },
        rules: [{ operations: ["*"], apiGroups: [""], apiVersions: ["v1"], resources: ["configmaps"] }],
        sideEffects: "None",
        admissionReviewVersions: ["v1"],
        timeoutSeconds: 5,
        ...given,
      })),
    };
  }

  async start(): Promise<void> {
    const { certPem: cert, keyPem: key } = this.#certificate;
    const server = createServer({ cert, key }, (request, response) => {
      const chunks: Buffer[] = [];
      request.on("data", (chunk: Buffer) => chunks.push(chunk));
      request.on("end", () => {
        this.targets.push(request.url ?? "");
        const review = JSON.parse(Buffer.concat(chunks).toString());
        this.asked.push(review);
        const {
          text,
          httpStatus = 200,
          ...given
        } = this.answer(review.request, new URL(`https://h${request.url}`).pathname);
        const { apiVersion, kind } = review;
        response.statusCode = httpStatus;
        response.setHeader("Content-Type", "application/json");
        const whole = {
          apiVersion,
          kind,
          response: { uid: review.request.uid, allowed: true, ...given },
        };
        response.end(text ?? JSON.stringify(whole));
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

/** As a webhook sends it. */
export function jsonPatch(...operations: readonly Json[]): Json {
  return {
    patchType: "JSONPatch",
    patch: Buffer.from(JSON.stringify(operations)).toString("base64"),
  };
}
