/** An admission webhook that serves real TLS. The test chooses its responses. */
import type { ServerResponse } from "node:http";
import { ReviewServer } from "./review-server.ts";
import type { Json } from "./start.ts";

export class AdmissionWebhook extends ReviewServer {
  /**
   * Returns fields that override those of an allowing AdmissionResponse, or `httpStatus` and `text` to replace the HTTP
   * status and the whole body.
   */
  answer: (request: Json, path: string) => Json = () => ({});

  /** A webhook configuration whose webhooks receive every operation on ConfigMaps. */
  configuration(kind: "Mutating" | "Validating", name: string, ...webhooks: readonly Json[]): Json {
    return {
      apiVersion: "admissionregistration.k8s.io/v1",
      kind: `${kind}WebhookConfiguration`,
      metadata: { name },
      webhooks: webhooks.map(({ path = "/", ...given }) => ({
        name: `${name}.example.com`,
        clientConfig: {
          url: `https://127.0.0.1:${this.port}${path}`,
          caBundle: this.caBundle,
        },
        rules: [{ operations: ["*"], apiGroups: [""], apiVersions: ["v1"], resources: ["configmaps"] }],
        sideEffects: "None",
        admissionReviewVersions: ["v1"],
        timeoutSeconds: 5,
        ...given,
      })),
    };
  }

  protected override respond(review: Json, path: string, response: ServerResponse): void {
    const { text, httpStatus = 200, ...given } = this.answer(review.request, path);
    const { apiVersion, kind } = review;
    response.statusCode = httpStatus;
    response.setHeader("Content-Type", "application/json");
    const whole = { apiVersion, kind, response: { uid: review.request.uid, allowed: true, ...given } };
    response.end(text ?? JSON.stringify(whole));
  }
}

/** The fields of an AdmissionResponse with this JSON patch in base64, as webhooks send it. */
export function jsonPatch(...operations: readonly Json[]): Json {
  return {
    patchType: "JSONPatch",
    patch: Buffer.from(JSON.stringify(operations)).toString("base64"),
  };
}
