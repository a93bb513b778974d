/** An operation of an OpenAPI document, in a form that does not depend on the version of OpenAPI. */
import { must } from "../../../base/assert.ts";
import type { StructSchema } from "../../../objects/schema.ts";
import type { ModelKind, SchemaSource } from "../../../objects/catalog/schema-source.ts";
import type { Model, PublishedModel } from "./schemas.ts";

export type Method = "get" | "put" | "post" | "delete" | "options" | "head" | "patch";

export interface Parameter {
  readonly name: string;
  readonly in: "query" | "path";
  readonly type: "string" | "integer" | "boolean";
}

/** The content of a response: an object of the model, or text. */
export type ResponseContent = Model | "string";

export interface OpenApiResponse {
  readonly code: 200 | 201 | 202;
  readonly content: ResponseContent;
}

export interface OpenApiOperation {
  readonly path: string;
  readonly method: Method;
  readonly operationId: string;
  readonly tag: string;
  /** Undefined if the path is not that of a resource. */
  readonly resource: { readonly action: string; readonly kind: ModelKind } | undefined;
  readonly parameters: readonly Parameter[];
  /** Undefined if the operation has no body and declares no media type for it. */
  readonly consumes: readonly string[] | undefined;
  readonly produces: readonly string[];
  readonly body: { readonly model: Model; readonly isRequired: boolean } | undefined;
  /** The successful responses. */
  readonly responses: readonly OpenApiResponse[];
}

export const ANY_TYPE: readonly string[] = ["*/*"];
export const OBJECT_TYPES: readonly string[] = [
  "application/json",
  "application/yaml",
  "application/vnd.kubernetes.protobuf",
];

const META = "io.k8s.apimachinery.pkg.apis.meta.v1";

/** The body of a PATCH request, whose fields depend on the type of the patch. */
export const PATCH_MODEL: PublishedModel = { name: `${META}.Patch`, definition: () => ({ type: "object" }) };

/** The model of a kind of meta/v1, such as Status or APIGroup, which every release has. */
export function metaModel(schemas: SchemaSource, kind: string): StructSchema {
  return must(schemas.struct(`${META}.${kind}`), "every release has the kinds of meta/v1");
}

/** The responses with these status codes, all with the same content. */
export function responsesOf(codes: readonly OpenApiResponse["code"][], content: ResponseContent): OpenApiResponse[] {
  return codes.map((code) => ({ code, content }));
}

export const RESPONSE_DESCRIPTIONS: Readonly<Record<OpenApiResponse["code"], string>> = {
  200: "OK",
  201: "Created",
  202: "Accepted",
};
/** The description of the response with status 401, which every operation has. */
export const UNAUTHORIZED = "Unauthorized";
