/** The OpenAPI operations of custom resources. Every custom resource has the same operations. */
import { must } from "../../../base/assert.ts";
import type { Catalog } from "../../../objects/catalog/catalog.ts";
import type { JsonObject } from "../../../meta/json.ts";
import { customModelName, LIST_META, OBJECT_META, type CustomGroupVersion, type CustomResource } from "./custom.ts";
import {
  describePaths,
  LIST,
  NAME,
  NAMESPACE_PARAMETER,
  pascal,
  PRETTY,
  query,
  tagOf,
  VERBS,
  type OpenApiOperation,
  type OpenApiVerb,
} from "./operations.ts";
import type { Model, PublishedModel, SchemaCollector } from "./schemas.ts";

const MEDIA_TYPES: readonly string[] = ["application/json", "application/yaml"];
const PATCH_TYPES: readonly string[] = [
  "application/json-patch+json",
  "application/merge-patch+json",
  "application/apply-patch+yaml",
];

/** The verbs of built-in resources, and the verbs whose operations differ for custom resources. */
const CUSTOM_VERBS: Readonly<Record<string, OpenApiVerb>> = {
  ...VERBS,
  get: { method: "get", action: "get", parameters: [query("resourceVersion")] },
  deletecollection: { method: "delete", action: "deletecollection", parameters: LIST },
};

/** Descriptions that `kubectl explain` prints for every custom resource. */
export const CUSTOM_DESCRIPTIONS: ReadonlyMap<string, string> = new Map([
  [
    `${OBJECT_META}.creationTimestamp`,
    "CreationTimestamp is a timestamp: when the server stored the object for the first time.",
  ],
]);

/**
 * The paths of custom resources, sorted. The models of the catalog that every custom resource references keep their
 * names. DIFFERS: kube-apiserver renames a custom model if its name is taken.
 */
export function customPaths(
  groupVersions: readonly CustomGroupVersion[],
  document: {
    readonly catalog: Catalog;
    readonly schemas: SchemaCollector;
    readonly describe: (operation: OpenApiOperation) => JsonObject;
  },
): JsonObject {
  const { catalog, schemas, describe } = document;
  for (const name of [OBJECT_META, LIST_META]) {
    const struct = catalog.schemas.struct(name);
    if (struct !== undefined) schemas.reference(struct);
  }
  schemas.settle();
  const operations = groupVersions
    .flatMap(({ resources }) => resources)
    .flatMap((resource) => customOperations(catalog.schemas, resource));
  return describePaths(operations, describe);
}

interface Models {
  readonly own: Model;
  readonly list: Model;
  readonly scale: Model | undefined;
  readonly status: Model | undefined;
  readonly deleteOptions: Model | undefined;
}

function customOperations(schemas: Catalog["schemas"], resource: CustomResource): OpenApiOperation[] {
  const { group, version, namespaced } = resource;
  const models: Models = {
    own: published(resource, resource.kind, (dialect) => resource.schema(dialect)),
    list: published(resource, resource.listKind, (dialect) => resource.listSchema(dialect)),
    scale: schemas.kind("autoscaling", "v1", "Scale"),
    status: schemas.kind("", "v1", "Status"),
    deleteOptions: schemas.kind("", "v1", "DeleteOptions"),
  };
  const everywhere = `/apis/${group}/${version}/${resource.resource}`;
  const collection = namespaced ? `/apis/${group}/${version}/namespaces/{namespace}/${resource.resource}` : everywhere;
  const object = `${collection}/{name}`;
  const make = (verb: string, path: string, subresource = ""): OpenApiOperation =>
    operation(resource, models, { verb, path, subresource });
  const sub = (name: string): OpenApiOperation[] =>
    ["get", "update", "patch"].map((verb) => make(verb, `${object}/${name}`, name));
  return [
    ...(namespaced ? [make("list", everywhere)] : []),
    ...["list", "create", "deletecollection"].map((verb) => make(verb, collection)),
    ...["get", "update", "delete", "patch"].map((verb) => make(verb, object)),
    ...(resource.hasStatus ? sub("status") : []),
    ...(resource.hasScale ? sub("scale") : []),
  ];
}

function published(resource: CustomResource, kind: string, definition: PublishedModel["definition"]): PublishedModel {
  return { name: customModelName(resource, kind), definition };
}

function operation(
  resource: CustomResource,
  models: Models,
  { verb, path, subresource }: { readonly verb: string; readonly path: string; readonly subresource: string },
): OpenApiOperation {
  const { group, version, kind } = resource;
  const { method, action, parameters } = must(CUSTOM_VERBS[verb], "operations have known verbs");
  const own = subresource === "scale" ? models.scale : models.own;
  const isDeletion = method === "delete";
  return {
    path,
    method,
    action,
    operationId: operationId(resource, { verb, path, subresource }),
    tag: tagOf(group, version),
    kind: { group, version, kind },
    parameters: [
      ...(path.includes("{name}") ? [NAME] : []),
      ...(path.includes("{namespace}") ? [NAMESPACE_PARAMETER] : []),
      PRETTY,
      ...parameters,
    ],
    consumes: method === "patch" ? PATCH_TYPES : MEDIA_TYPES,
    produces: MEDIA_TYPES,
    body: verb === "delete" ? models.deleteOptions : verb === "create" || verb === "update" ? own : undefined,
    responseModel: verb === "list" ? models.list : isDeletion ? models.status : own,
  };
}

const VERB_NAMES: Readonly<Record<string, string>> = { get: "read", update: "replace", deletecollection: "delete" };

function operationId(
  { group, version, kind, namespaced }: CustomResource,
  { verb, path, subresource }: { readonly verb: string; readonly path: string; readonly subresource: string },
): string {
  const isEverywhere = namespaced && !path.includes("{namespace}");
  const scope = `${namespaced && !isEverywhere ? "Namespaced" : ""}${kind}${isEverywhere ? "ForAllNamespaces" : ""}`;
  const collection = verb === "deletecollection" ? "Collection" : "";
  return `${VERB_NAMES[verb] ?? verb}${pascal(group)}${pascal(version)}${collection}${scope}${subresource === "" ? "" : pascal(subresource)}`;
}
