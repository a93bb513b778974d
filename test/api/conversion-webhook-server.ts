/**
 * A conversion webhook that serves real TLS. It converts between two versions of an Endpoint: v1 has the fields host
 * and port, v2 has the field address.
 */
import type { ServerResponse } from "node:http";
import { ReviewServer } from "./review-server.ts";
import type { Json } from "./start.ts";

const GROUP = "net.example.com";
export const SERVICE = { namespace: "default", name: "hook", path: "/convert" };

export class ConversionWebhook extends ReviewServer {
  /** Changes or replaces the correct ConversionReview before it is sent. */
  tamper: (review: Json) => Json = (review) => review;
  /** The delay of the next response. */
  delayMs: () => number = () => 0;

  get clientConfig(): Json {
    return { url: `https://127.0.0.1:${this.port}/convert`, caBundle: this.caBundle };
  }

  protected override respond(review: Json, _path: string, response: ServerResponse): void {
    const answer = this.tamper(converted(review));
    setTimeout(() => {
      response.statusCode = answer.httpStatus ?? 200;
      response.setHeader("Content-Type", answer.contentType ?? "application/json");
      response.end(answer.text ?? JSON.stringify(answer));
    }, this.delayMs());
  }
}

/** The ConversionReview with the correct response. */
function converted({ kind, apiVersion, request }: Json): Json {
  const convertedObjects = request.objects.map((object: Json) => convert(object, request.desiredAPIVersion));
  return { kind, apiVersion, response: { uid: request.uid, convertedObjects, result: { status: "Success" } } };
}

function convert(object: Json, apiVersion: string): Json {
  const { address, host, port, ...rest } = object.spec;
  if (apiVersion === `${GROUP}/v2`) return { ...object, apiVersion, spec: { ...rest, address: `${host}:${port}` } };
  const [name, number] = address.split(":");
  return { ...object, apiVersion, spec: { ...rest, host: name, port: Number(number) } };
}

export function endpointDefinition(clientConfig: Json, storage = "v1", more: Json = {}): Json {
  const version = (name: string, properties: Json): Json => ({
    name,
    served: true,
    storage: name === storage,
    schema: { openAPIV3Schema: { type: "object", properties: { spec: { type: "object", properties } } } },
    selectableFields: [{ jsonPath: `.spec.${Object.keys(properties)[0]}` }],
  });
  return {
    apiVersion: "apiextensions.k8s.io/v1",
    kind: "CustomResourceDefinition",
    metadata: { name: `endpoints.${GROUP}` },
    spec: {
      group: GROUP,
      scope: "Namespaced",
      names: { plural: "endpoints", kind: "Endpoint" },
      versions: [
        version("v1", { host: { type: "string" }, port: { type: "integer" } }),
        version("v2", { address: { type: "string" } }),
      ],
      conversion: { strategy: "Webhook", webhook: { conversionReviewVersions: ["v1"], clientConfig, ...more } },
    },
  };
}
