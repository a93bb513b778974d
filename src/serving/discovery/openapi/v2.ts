/** Builds the OpenAPI 2 ("swagger") document: one document for all group versions. */
import type { Catalog } from "../../../objects/catalog/catalog.ts";
import type { JsonObject } from "../../../meta/json.ts";
import type { CustomGroupVersion } from "./custom.ts";
import { customPaths } from "./custom-operations.ts";
import { describePaths, kindsByModel, operationsOf, type OpenApiOperation } from "./operations.ts";
import { SchemaCollector } from "./schemas.ts";

/** The document of the built-in resources. */
export function openApiV2Document(catalog: Catalog): JsonObject {
  const schemas = new SchemaCollector("v2", kindsByModel(catalog));
  const operations = catalog.groups.flatMap((group) =>
    group.versions.flatMap((version) => operationsOf(catalog, group, version)),
  );
  const paths = describePaths(operations, (operation) => describeOperation(operation, schemas));
  return wholeDocument(catalog, paths, schemas);
}

/** The document of custom resources, with the models of the catalog that they reference. */
export function customV2Document(catalog: Catalog, custom: readonly CustomGroupVersion[]): JsonObject {
  const schemas = new SchemaCollector("v2", kindsByModel(catalog));
  const describe = (operation: OpenApiOperation): JsonObject => describeOperation(operation, schemas);
  return wholeDocument(catalog, customPaths(custom, { catalog, schemas, describe }), schemas);
}

function wholeDocument(catalog: Catalog, paths: JsonObject, schemas: SchemaCollector): JsonObject {
  return {
    swagger: "2.0",
    info: { title: "Kubernetes", version: catalog.release.gitVersion },
    paths,
    definitions: schemas.definitions(),
    securityDefinitions: { BearerToken: { type: "apiKey", name: "authorization", in: "header" } },
    security: [{ BearerToken: [] }],
  };
}

function describeOperation(operation: OpenApiOperation, schemas: SchemaCollector): JsonObject {
  const isPatch = operation.method === "patch";
  const body = isPatch
    ? { type: "object" }
    : operation.body === undefined
      ? undefined
      : schemas.reference(operation.body);
  return {
    tags: [operation.tag],
    operationId: operation.operationId,
    consumes: operation.consumes,
    produces: operation.produces,
    schemes: ["https"],
    parameters: [
      ...(body === undefined
        ? []
        : [{ name: "body", in: "body", ...(operation.method === "delete" ? {} : { required: true }), schema: body }]),
      ...operation.parameters.map(({ name, in: place, type }) => ({
        name,
        in: place,
        ...(place === "path" ? { required: true } : {}),
        type,
        uniqueItems: true,
      })),
    ],
    responses: {
      200: {
        description: "OK",
        ...(operation.responseModel === undefined ? {} : { schema: schemas.reference(operation.responseModel) }),
      },
      401: { description: "Unauthorized" },
    },
    "x-kubernetes-action": operation.action,
    "x-kubernetes-group-version-kind": operation.kind,
  };
}
