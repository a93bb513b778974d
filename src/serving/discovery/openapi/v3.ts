/** Builds the OpenAPI 3.0 documents: one document per group version, and some for paths that are not resources. */
import type { GroupVersion } from "../../../meta/group-version.ts";
import type { Catalog } from "../../../objects/catalog/catalog.ts";
import type { SchemaSource } from "../../../objects/catalog/schema-source.ts";
import { gatesOf } from "../../../objects/catalog/release-gates.ts";
import type { JsonObject } from "../../../meta/json.ts";
import { CUSTOM_DESCRIPTIONS, customOperations, referenceSharedModels } from "./custom-operations.ts";
import type { CustomGroupVersion } from "./custom.ts";
import type { DocumentSource } from "./document-sources.ts";
import {
  RESPONSE_DESCRIPTIONS,
  UNAUTHORIZED,
  type ResponseContent,
  type OpenApiOperation,
  type Parameter,
} from "./operation.ts";
import { documentInfo } from "./info.ts";
import { describePaths } from "./path-items.ts";
import { SchemaCollector } from "./schemas.ts";

/** Builds one document of the built-in resources. */
export function openApiV3Document(catalog: Catalog, source: DocumentSource): JsonObject {
  const schemas = createSchemas(catalog, kindsIn(catalog, source.groupVersion), new Map());
  const { components, ...document } = wholeDocument(catalog, source.operations(), schemas);
  const { schemas: definitions } = components;
  const securitySchemes = {
    BearerToken: { type: "apiKey", description: "Bearer Token authentication", name: "authorization", in: "header" },
  };
  return {
    ...document,
    info: documentInfo(catalog),
    components: { ...(Object.keys(definitions).length === 0 ? {} : { schemas: definitions }), securitySchemes },
  };
}

/** Builds the document of the custom resources of one group version, with the models of the catalog. */
export function customV3Document(catalog: Catalog, custom: CustomGroupVersion): JsonObject {
  const schemas = createSchemas(catalog, kindsIn(catalog, undefined), CUSTOM_DESCRIPTIONS);
  referenceSharedModels(catalog, schemas);
  return { ...wholeDocument(catalog, customOperations(catalog, custom), schemas), info: CUSTOM_INFO };
}

/** As kubernetes. */
const CUSTOM_INFO: JsonObject = { title: "Kubernetes CRD Swagger", version: "v0.1.0" };

function createSchemas(
  { release }: Catalog,
  kindsOf: SchemaSource["kindsOf"],
  descriptions: ReadonlyMap<string, string>,
): SchemaCollector {
  const gates = gatesOf(release.name);
  const hasZeros = gates.isOn("OpenAPIZerosInLists");
  const zeros = !hasZeros ? "none" : gates.isOn("OpenAPIZerosOfScalarModels") ? "all" : "structs-and-plain";
  return new SchemaCollector({ dialect: "v3", kindsOf, zeros, descriptions });
}

interface Document extends JsonObject {
  readonly components: { readonly schemas: JsonObject };
}

function wholeDocument(catalog: Catalog, operations: readonly OpenApiOperation[], schemas: SchemaCollector): Document {
  const statesRequired = gatesOf(catalog.release.name).isOn("OpenAPIBodyRequired");
  const paths = Object.fromEntries(
    describePaths(operations, {
      operation: (operation) => describeOperation(operation, schemas, statesRequired),
      parameter: describeParameter,
    }),
  );
  return { openapi: "3.0.0", paths, components: { schemas: schemas.definitions() } };
}

/** The kinds of a model as the document of this group version lists them; undefined for custom resources. */
function kindsIn({ release, schemas }: Catalog, groupVersion: GroupVersion | undefined): SchemaSource["kindsOf"] {
  if (groupVersion === undefined)
    return (name) => schemas.kindsOf(name).filter(({ group }) => !GROUPS_OF_SERVERS.has(group));
  if (!gatesOf(release.name).isOn("OpenAPIKindsOfGroupVersion")) return (name) => schemas.kindsOf(name);
  return (name) => {
    const kinds = schemas.kindsOf(name);
    return SHARED_KINDS.has(kinds[0]?.kind ?? "") ? kinds.filter((kind) => isListedIn(groupVersion, kind)) : kinds;
  };
}

/** As kubernetes: the documents of custom resources list the kinds of its client, which does not have these groups. */
const GROUPS_OF_SERVERS: ReadonlySet<string> = new Set([
  "admission.k8s.io",
  "apiextensions.k8s.io",
  "apiregistration.k8s.io",
  "imagepolicy.k8s.io",
]);

/** The kinds that every group version has. */
const SHARED_KINDS: ReadonlySet<string> = new Set(["DeleteOptions", "WatchEvent"]);

/** As kubernetes: the core group version is listed everywhere. */
function isListedIn(document: GroupVersion, { group, version }: GroupVersion): boolean {
  return (group === document.group && version === document.version) || (group === "" && version === "v1");
}

function describeOperation(operation: OpenApiOperation, schemas: SchemaCollector, statesRequired: boolean): JsonObject {
  const { resource, body, consumes = [] } = operation;
  const responses: JsonObject = {};
  for (const { code, content } of operation.responses)
    responses[code] = {
      description: RESPONSE_DESCRIPTIONS[code],
      content: describeContent(content, operation.produces, schemas),
    };
  return {
    tags: [operation.tag],
    operationId: operation.operationId,
    ...(operation.parameters.length === 0 ? {} : { parameters: operation.parameters.map(describeParameter) }),
    ...(body === undefined
      ? {}
      : {
          requestBody: {
            ...(body.isRequired && statesRequired ? { required: true } : {}),
            content: describeContent(body.model, consumes, schemas),
          },
        }),
    responses: { ...responses, 401: { description: UNAUTHORIZED } },
    ...(resource === undefined
      ? {}
      : { "x-kubernetes-action": resource.action, "x-kubernetes-group-version-kind": resource.kind }),
  };
}

function describeParameter({ name, in: place, type }: Parameter): JsonObject {
  return {
    name,
    in: place,
    ...(place === "path" ? { required: true } : {}),
    schema: { type, uniqueItems: true },
  };
}

function describeContent(content: ResponseContent, types: readonly string[], schemas: SchemaCollector): JsonObject {
  return Object.fromEntries(types.map((type) => [type, { schema: schemas.schemaOf(content) }]));
}
