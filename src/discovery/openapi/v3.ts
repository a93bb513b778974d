/** OpenAPI 3.0: one document per group version. */
import type { Catalogue, CatalogueGroup } from "../../catalogue/catalogue.ts";
import type { JsonObject } from "../../meta/json.ts";
import type { StructSchema } from "../../object/schema.ts";
import { kindsByModel, operationsOf, PATCH_TYPES, sortedByPath, type Operation } from "./operations.ts";
import { SchemaCollector } from "./schemas.ts";

const ANSWER_TYPES: readonly string[] = ["application/json", "application/yaml", "application/vnd.kubernetes.protobuf"];

export function openApiV3Document(catalogue: Catalogue, group: CatalogueGroup, version: string): JsonObject {
  const schemas = new SchemaCollector("v3", kindsByModel(catalogue));
  const paths: JsonObject = {};
  for (const [path, operations] of sortedByPath(operationsOf(catalogue, group, version))) {
    paths[path] = Object.fromEntries(
      operations.map((operation) => [operation.method, describeOperation(operation, schemas)]),
    );
  }
  return {
    openapi: "3.0.0",
    info: { title: "Kubernetes", version: catalogue.release.gitVersion },
    paths,
    components: {
      schemas: schemas.definitions(),
      securitySchemes: { BearerToken: { type: "apiKey", name: "authorization", in: "header" } },
    },
    security: [{ BearerToken: [] }],
  };
}

function describeOperation(operation: Operation, schemas: SchemaCollector): JsonObject {
  return {
    tags: [operation.tag],
    operationId: operation.operationId,
    parameters: operation.parameters.map(({ name, in: place, type }) => ({
      name,
      in: place,
      ...(place === "path" ? { required: true } : {}),
      schema: { type, uniqueItems: true },
    })),
    ...requestBody(operation, schemas),
    responses: {
      200: { description: "OK", ...content(operation.answer, schemas, ANSWER_TYPES) },
      401: { description: "Unauthorized" },
    },
    "x-kubernetes-action": operation.action,
    "x-kubernetes-group-version-kind": operation.kind,
  };
}

function requestBody(operation: Operation, schemas: SchemaCollector): JsonObject {
  if (operation.method === "patch") {
    return {
      requestBody: {
        required: true,
        content: Object.fromEntries(PATCH_TYPES.map((type) => [type, { schema: { type: "object" } }])),
      },
    };
  }
  return operation.body === undefined
    ? {}
    : {
        requestBody: {
          ...(operation.method === "delete" ? {} : { required: true }),
          ...content(operation.body, schemas, ["*/*"]),
        },
      };
}

function content(struct: StructSchema | undefined, schemas: SchemaCollector, types: readonly string[]): JsonObject {
  if (struct === undefined) return {};
  return { content: Object.fromEntries(types.map((type) => [type, { schema: schemas.reference(struct) }])) };
}
