/** The OpenAPI operations of custom resources. Every custom resource has the same operations. */
import { must } from "../../../base/assert.ts";
import type { Catalog } from "../../../objects/catalog/catalog.ts";
import { ACTIONS, operationId, type ObjectAction } from "./actions.ts";
import { customModelName, LIST_META, OBJECT_META, type CustomGroupVersion, type CustomResource } from "./custom.ts";
import {
  metaModel,
  PATCH_MODEL,
  responsesOf,
  type OpenApiOperation,
  type OpenApiResponse,
  type Parameter,
} from "./operation.ts";
import { tagOf } from "./operation-names.ts";
import { groupVersionRoot } from "./operations.ts";
import {
  deleteParameters,
  GET,
  listParameters,
  NAME,
  NAMESPACE_PARAMETER,
  PATCH,
  PRETTY,
  WRITE,
} from "./parameters.ts";
import type { Model, PublishedModel, SchemaCollector } from "./schemas.ts";

const MEDIA_TYPES: readonly string[] = ["application/json", "application/yaml"];
const PATCH_TYPES: readonly string[] = [
  "application/json-patch+json",
  "application/merge-patch+json",
  "application/apply-patch+yaml",
];
/** As kubernetes: the operations of custom resources do not list the response 201 of a patch. */
const PATCH_CODES: readonly OpenApiResponse["code"][] = [200];

/** Descriptions that `kubectl explain` prints for every custom resource. */
export const CUSTOM_DESCRIPTIONS: ReadonlyMap<string, string> = new Map([
  [
    `${OBJECT_META}.creationTimestamp`,
    "CreationTimestamp is a timestamp: when the server stored the object for the first time.",
  ],
]);

/**
 * Adds the models of the catalog that every custom resource references, so that they keep their names. DIFFERS:
 * kube-apiserver renames a custom model if its name is taken.
 */
export function referenceSharedModels(catalog: Catalog, schemas: SchemaCollector): void {
  for (const name of [OBJECT_META, LIST_META]) {
    const struct = catalog.schemas.struct(name);
    if (struct !== undefined) schemas.reference(struct);
  }
  schemas.settle();
}

export function customOperations(catalog: Catalog, { resources }: CustomGroupVersion): OpenApiOperation[] {
  return resources.flatMap((resource) => resourceOperations({ catalog, resource }));
}

interface Custom {
  readonly catalog: Catalog;
  readonly resource: CustomResource;
}

interface Place {
  /** Relative to the group version. */
  readonly path: string;
  readonly subresource: string;
  readonly isAcrossNamespaces: boolean;
}

function resourceOperations(custom: Custom): OpenApiOperation[] {
  const { namespaced, resource, hasStatus, hasScale } = custom.resource;
  const path = namespaced ? `namespaces/{namespace}/${resource}` : resource;
  const collection: Place = { path, subresource: "", isAcrossNamespaces: false };
  const object: Place = { ...collection, path: `${path}/{name}` };
  const everywhere: Place = { ...collection, path: resource, isAcrossNamespaces: true };
  const make = (actions: readonly ObjectAction[], place: Place): OpenApiOperation[] =>
    actions.map((action) => operation(custom, action, place));
  const sub = (subresource: string): OpenApiOperation[] =>
    make(["get", "put", "patch"], { ...object, path: `${object.path}/${subresource}`, subresource });
  return [
    ...(namespaced ? make(["list"], everywhere) : []),
    ...make(["list", "post", "deletecollection"], collection),
    ...make(["get", "put", "delete", "patch"], object),
    ...(hasStatus ? sub("status") : []),
    ...(hasScale ? sub("scale") : []),
  ];
}

function operation(custom: Custom, action: ObjectAction, place: Place): OpenApiOperation {
  const { catalog, resource } = custom;
  const { group, version, kind, namespaced: isNamespaced } = resource;
  const { method, codes } = ACTIONS[action];
  const own = modelOf(custom, place);
  const isDeletion = action === "delete" || action === "deletecollection";
  const content =
    action === "list"
      ? published(resource, resource.listKind, (dialect) => resource.listSchema(dialect))
      : isDeletion
        ? metaModel(catalog.schemas, "Status")
        : own;
  return {
    path: `${groupVersionRoot(group, version)}/${place.path}`,
    method,
    operationId: operationId(action, { ...place, group, version, kind, isNamespaced }),
    tag: tagOf(group, version),
    resource: { action, kind: { group, version, kind } },
    parameters: [
      ...(place.path.includes("{name}") ? [NAME] : []),
      ...(place.path.includes("{namespace}") ? [NAMESPACE_PARAMETER] : []),
      PRETTY,
      ...parametersOf(catalog, action),
    ],
    consumes: action === "patch" ? PATCH_TYPES : MEDIA_TYPES,
    produces: MEDIA_TYPES,
    body: bodyOf(catalog, action, own),
    responses: responsesOf(action === "patch" ? PATCH_CODES : codes, content),
  };
}

function modelOf({ catalog, resource }: Custom, { subresource }: Place): Model {
  if (subresource !== "scale") return published(resource, resource.kind, (dialect) => resource.schema(dialect));
  return must(catalog.schemas.kind("autoscaling", "v1", "Scale"), "every release has the kind Scale");
}

function published(resource: CustomResource, kind: string, definition: PublishedModel["definition"]): PublishedModel {
  return { name: customModelName(resource, kind), definition };
}

function parametersOf(catalog: Catalog, action: ObjectAction): readonly Parameter[] {
  switch (action) {
    case "get":
      return GET;
    case "post":
    case "put":
      return WRITE;
    case "patch":
      return PATCH;
    case "delete":
      return deleteParameters(catalog);
    default:
      return listParameters(catalog);
  }
}

function bodyOf({ schemas }: Catalog, action: ObjectAction, own: Model): OpenApiOperation["body"] {
  switch (action) {
    case "post":
    case "put":
      return { model: own, isRequired: true };
    case "patch":
      return { model: PATCH_MODEL, isRequired: true };
    case "delete":
      return { model: metaModel(schemas, "DeleteOptions"), isRequired: false };
    default:
      return undefined;
  }
}
