/** Builds the OpenAPI 2 ("swagger") document: one document for all group versions. */
import { createHash } from "node:crypto";
import type { Catalog } from "../../../objects/catalog/catalog.ts";
import type { SchemaSource } from "../../../objects/catalog/schema-source.ts";
import type { JsonObject } from "../../../meta/json.ts";
import type { CustomGroupVersion } from "./custom.ts";
import { customOperations, referenceSharedModels } from "./custom-operations.ts";
import { documentSources } from "./document-sources.ts";
import { RESPONSE_DESCRIPTIONS, UNAUTHORIZED, type OpenApiOperation, type Parameter } from "./operation.ts";
import { documentInfo } from "./info.ts";
import { describePaths } from "./path-items.ts";
import { SchemaCollector } from "./schemas.ts";
import type { V2Source } from "./v2-source.ts";

/** The document of the built-in resources. */
export function builtInV2(catalog: Catalog): V2Source {
  return sourceFor(catalog, function* () {
    for (const source of documentSources(catalog).values()) yield source.operations();
  });
}

/** The document of custom resources, with the models of the catalog that they reference. */
export function customV2(catalog: Catalog, custom: readonly CustomGroupVersion[]): V2Source {
  return sourceFor(catalog, function* (schemas) {
    referenceSharedModels(catalog, schemas);
    for (const one of custom) yield customOperations(catalog, one);
  });
}

function createSchemas({ schemas }: Catalog): SchemaCollector {
  const kindsOf: SchemaSource["kindsOf"] = (name) => schemas.kindsOf(name);
  return new SchemaCollector({ dialect: "v2", kindsOf, zeros: "none", descriptions: new Map() });
}

/** The operations come in parts that have no path in common. */
function sourceFor(
  catalog: Catalog,
  operations: (schemas: SchemaCollector) => Iterable<readonly OpenApiOperation[]>,
): V2Source {
  return {
    head: {
      swagger: "2.0",
      info: documentInfo(catalog),
      securityDefinitions: {
        BearerToken: {
          type: "apiKey",
          description: "Bearer Token authentication",
          name: "authorization",
          in: "header",
        },
      },
      security: [{ BearerToken: [] }],
    },
    *entries() {
      const schemas = createSchemas(catalog);
      const shared = createSharedParameters();
      const describe = {
        operation: (operation: OpenApiOperation) => describeOperation(operation, schemas, shared),
        parameter: (parameter: Parameter) => describeParameter(parameter, shared),
      };
      for (const part of operations(schemas))
        for (const [name, value] of describePaths(part, describe)) yield { section: "paths", name, value };
      for (const [name, value] of schemas.drain()) yield { section: "definitions", name, value };
      for (const [name, value] of shared.definitions()) yield { section: "parameters", name, value };
    },
  };
}

function describeOperation(
  operation: OpenApiOperation,
  schemas: SchemaCollector,
  shared: SharedParameters,
): JsonObject {
  const { resource, consumes } = operation;
  const parameters = [
    ...describeBody(operation, schemas, shared),
    ...operation.parameters.map((parameter) => describeParameter(parameter, shared)),
  ];
  return {
    tags: [operation.tag],
    operationId: operation.operationId,
    ...(consumes === undefined ? {} : { consumes }),
    produces: operation.produces,
    schemes: ["https"],
    ...(parameters.length === 0 ? {} : { parameters }),
    responses: describeResponses(operation, schemas),
    ...(resource === undefined
      ? {}
      : { "x-kubernetes-action": resource.action, "x-kubernetes-group-version-kind": resource.kind }),
  };
}

function describeResponses({ responses }: OpenApiOperation, schemas: SchemaCollector): JsonObject {
  const described: JsonObject = {};
  for (const { code, content } of responses)
    described[code] = { description: RESPONSE_DESCRIPTIONS[code], schema: schemas.schemaOf(content) };
  return { ...described, 401: { description: UNAUTHORIZED } };
}

const MODELS_OF_ALL_KINDS = "io.k8s.apimachinery";

function describeBody({ body }: OpenApiOperation, schemas: SchemaCollector, shared: SharedParameters): JsonObject[] {
  if (body === undefined) return [];
  const { model, isRequired } = body;
  const parameter: JsonObject = {
    name: "body",
    in: "body",
    ...(isRequired ? { required: true } : {}),
    schema: schemas.reference(model),
  };
  return [model.name.startsWith(MODELS_OF_ALL_KINDS) ? shared.reference("body", parameter) : parameter];
}

/**
 * As kubernetes: kubectl up to 1.27 looks for the parameters fieldValidation and dryRun in the operation itself, so they
 * are not shared. The description of a name depends on the kind.
 */
const NOT_SHARED: ReadonlySet<string> = new Set(["name", "fieldValidation", "dryRun"]);

function describeParameter({ name, in: place, type }: Parameter, shared: SharedParameters): JsonObject {
  const required = place === "path" ? { required: true } : {};
  const parameter: JsonObject = { name, in: place, ...required, type, uniqueItems: true };
  return NOT_SHARED.has(name) ? parameter : shared.reference(name, parameter);
}

/** Collects the parameters that a document describes once and its operations refer to. */
interface SharedParameters {
  reference(name: string, parameter: JsonObject): JsonObject;
  definitions(): Iterable<readonly [name: string, parameter: JsonObject]>;
}

/** The name of a shared parameter contains a hash of it, so that documents of several servers can be merged. */
function createSharedParameters(): SharedParameters {
  const names = new Map<string, string>();
  const definitions = new Map<string, JsonObject>();
  return {
    reference(name, parameter) {
      const json = JSON.stringify(parameter);
      let known = names.get(json);
      if (known === undefined) {
        known = `${name}-${createHash("sha256").update(json).digest("base64url").slice(0, HASH_LENGTH)}`;
        names.set(json, known);
        definitions.set(known, parameter);
      }
      return { $ref: `#/parameters/${known}` };
    },
    definitions: () => definitions,
  };
}

const HASH_LENGTH = 8;
