/** Builds the OpenAPI 3.0 documents: one document per group version. */
import type { Catalog, CatalogGroup } from "../../../objects/catalog/catalog.ts";
import type { JsonObject } from "../../../meta/json.ts";
import { CUSTOM_DESCRIPTIONS, customPaths } from "./custom-operations.ts";
import type { CustomGroupVersion } from "./custom.ts";
import { describePaths, kindsByModel, operationsOf, type OpenApiOperation } from "./operations.ts";
import { SchemaCollector, type Model } from "./schemas.ts";

/** Builds the document of the built-in resources of one group version. */
export function openApiV3Document(catalog: Catalog, group: CatalogGroup, version: string): JsonObject {
  const schemas = new SchemaCollector("v3", kindsByModel(catalog));
  const describe = (operation: OpenApiOperation): JsonObject => describeOperation(operation, schemas);
  return wholeDocument(catalog, describePaths(operationsOf(catalog, group, version), describe), schemas);
}

/** Builds the document of the custom resources of one group version, with the models of the catalog. */
export function customV3Document(catalog: Catalog, custom: CustomGroupVersion): JsonObject {
  const schemas = new SchemaCollector("v3", kindsByModel(catalog), CUSTOM_DESCRIPTIONS);
  const describe = (operation: OpenApiOperation): JsonObject => describeOperation(operation, schemas);
  return wholeDocument(catalog, customPaths([custom], { catalog, schemas, describe }), schemas);
}

function wholeDocument(catalog: Catalog, paths: JsonObject, schemas: SchemaCollector): JsonObject {
  return {
    openapi: "3.0.0",
    info: { title: "Kubernetes", version: catalog.release.gitVersion },
    paths,
    components: {
      schemas: schemas.definitions(),
      securitySchemes: { BearerToken: { type: "apiKey", name: "authorization", in: "header" } },
    },
    security: [{ BearerToken: [] }],
  };
}

function describeOperation(operation: OpenApiOperation, schemas: SchemaCollector): JsonObject {
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
      200: { description: "OK", ...content(operation.responseModel, schemas, operation.produces) },
      401: { description: "Unauthorized" },
    },
    "x-kubernetes-action": operation.action,
    "x-kubernetes-group-version-kind": operation.kind,
  };
}

function requestBody(operation: OpenApiOperation, schemas: SchemaCollector): JsonObject {
  if (operation.method === "patch") {
    return {
      requestBody: {
        required: true,
        content: Object.fromEntries(operation.consumes.map((type) => [type, { schema: { type: "object" } }])),
      },
    };
  }
  return operation.body === undefined
    ? {}
    : {
        requestBody: {
          ...(operation.method === "delete" ? {} : { required: true }),
          ...content(operation.body, schemas, operation.consumes),
        },
      };
}

function content(model: Model | undefined, schemas: SchemaCollector, types: readonly string[]): JsonObject {
  if (model === undefined) return {};
  return { content: Object.fromEntries(types.map((type) => [type, { schema: schemas.reference(model) }])) };
}
