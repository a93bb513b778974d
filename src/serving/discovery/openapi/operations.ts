/** Lists the OpenAPI operations of one group version with their parameters and media types. */
import { must } from "../../../base/assert.ts";
import type {
  Catalog,
  CatalogGroup,
  CatalogResource,
  CatalogSubresource,
  CatalogVersion,
} from "../../../objects/catalog/catalog.ts";
import type { JsonObject } from "../../../meta/json.ts";
import type { StructSchema } from "../../../objects/schema.ts";
import type { GroupVersionKind, Model } from "./schemas.ts";

type Method = "get" | "post" | "put" | "patch" | "delete";

interface Parameter {
  readonly name: string;
  readonly in: "query" | "path";
  readonly type: "string" | "integer" | "boolean";
}

export interface OpenApiOperation {
  readonly path: string;
  readonly method: Method;
  readonly action: string;
  readonly operationId: string;
  readonly tag: string;
  readonly kind: GroupVersionKind;
  readonly parameters: readonly Parameter[];
  readonly consumes: readonly string[];
  readonly produces: readonly string[];
  /** The model of the request body; undefined if the operation has no body. */
  readonly body: Model | undefined;
  readonly responseModel: Model | undefined;
}

const PATCH_TYPES: readonly string[] = [
  "application/apply-patch+yaml",
  "application/json-patch+json",
  "application/merge-patch+json",
  "application/strategic-merge-patch+json",
];
const RESPONSE_TYPES: readonly string[] = [
  "application/json",
  "application/yaml",
  "application/vnd.kubernetes.protobuf",
];

export const query = (name: string, type: Parameter["type"] = "string"): Parameter => ({ name, in: "query", type });
export const NAME: Parameter = { name: "name", in: "path", type: "string" };
export const NAMESPACE_PARAMETER: Parameter = { name: "namespace", in: "path", type: "string" };
export const PRETTY = query("pretty");
export const LIST: readonly Parameter[] = [
  query("allowWatchBookmarks", "boolean"),
  query("continue"),
  query("fieldSelector"),
  query("labelSelector"),
  query("limit", "integer"),
  query("resourceVersion"),
  query("resourceVersionMatch"),
  query("sendInitialEvents", "boolean"),
  query("timeoutSeconds", "integer"),
  query("watch", "boolean"),
];
const WRITE: readonly Parameter[] = [query("dryRun"), query("fieldManager"), query("fieldValidation")];
const DELETE: readonly Parameter[] = [
  query("dryRun"),
  query("gracePeriodSeconds", "integer"),
  query("orphanDependents", "boolean"),
  query("propagationPolicy"),
];

export interface OpenApiVerb {
  readonly method: Method;
  readonly action: string;
  /** Parameters in addition to `pretty`. */
  readonly parameters: readonly Parameter[];
}

export const VERBS: Readonly<Record<string, OpenApiVerb>> = {
  list: { method: "get", action: "list", parameters: LIST },
  create: { method: "post", action: "post", parameters: WRITE },
  deletecollection: {
    method: "delete",
    action: "deletecollection",
    parameters: [...LIST.filter(({ name }) => name !== "watch"), ...DELETE],
  },
  get: { method: "get", action: "get", parameters: [] },
  update: { method: "put", action: "put", parameters: WRITE },
  patch: { method: "patch", action: "patch", parameters: [...WRITE, query("force", "boolean")] },
  delete: { method: "delete", action: "delete", parameters: DELETE },
};
const COLLECTION_VERBS: readonly string[] = ["list", "create", "deletecollection"];
const OBJECT_VERBS: readonly string[] = ["get", "update", "patch", "delete"];

export function operationsOf(catalog: Catalog, group: CatalogGroup, version: string): OpenApiOperation[] {
  const root = group.name === "" ? `/api/${version}` : `/apis/${group.name}/${version}`;
  return group.resources.flatMap((resource) => {
    const served = resource.versions.find((candidate) => candidate.version === version);
    return served === undefined ? [] : resourceOperations({ catalog, resource, served, root });
  });
}

interface ResourceContext {
  readonly catalog: Catalog;
  readonly resource: CatalogResource;
  readonly served: CatalogVersion;
  readonly root: string;
}

function resourceOperations(context: ResourceContext): OpenApiOperation[] {
  const { resource, served, root } = context;
  const kind = { group: resource.group, version: served.version, kind: served.kind };
  const collection = resource.namespaced
    ? `${root}/namespaces/{namespace}/${resource.resource}`
    : `${root}/${resource.resource}`;
  const scope = resource.namespaced ? [NAMESPACE_PARAMETER] : [];
  const make = (verb: string, path: string, parameters: readonly Parameter[]): OpenApiOperation =>
    operation(context, { verb, path, parameters, kind, suffix: "" });
  return [
    ...COLLECTION_VERBS.filter((verb) => served.verbs.includes(verb)).map((verb) => make(verb, collection, scope)),
    ...OBJECT_VERBS.filter((verb) => served.verbs.includes(verb)).map((verb) =>
      make(verb, `${collection}/{name}`, [NAME, ...scope]),
    ),
    ...(resource.namespaced && served.verbs.includes("list") ? [make("list", `${root}/${resource.resource}`, [])] : []),
    ...served.subresources.flatMap((subresource) =>
      subresourceOperations(context, subresource, `${collection}/{name}`),
    ),
  ];
}

function subresourceOperations(
  context: ResourceContext,
  subresource: CatalogSubresource,
  object: string,
): OpenApiOperation[] {
  const parameters = [NAME, ...(context.resource.namespaced ? [NAMESPACE_PARAMETER] : [])];
  const path = `${object}/${subresource.name}`;
  const suffix = subresource.name.charAt(0).toUpperCase() + subresource.name.slice(1);
  return subresource.verbs
    .filter((verb) => VERBS[verb] !== undefined)
    .map((verb) => operation(context, { verb, path, parameters, kind: subresource.responseKind, suffix }));
}

function operation(
  { catalog, resource, served }: ResourceContext,
  what: { verb: string; path: string; parameters: readonly Parameter[]; kind: GroupVersionKind; suffix: string },
): OpenApiOperation {
  const { method, action, parameters } = must(VERBS[what.verb], "operations have known verbs");
  const { schemas } = catalog;
  const schemaOf = (kind: string): StructSchema | undefined => schemas.kind(what.kind.group, what.kind.version, kind);
  const own = schemaOf(what.kind.kind);
  const status = schemas.kind("", "v1", "Status");
  const deleteOptions = schemas.kind("", "v1", "DeleteOptions");
  const isDeletion = what.verb === "delete" || what.verb === "deletecollection";
  const isAcrossNamespaces = resource.namespaced && what.verb === "list" && !what.path.includes("{namespace}");
  const scope = isAcrossNamespaces
    ? `${served.kind}ForAllNamespaces`
    : resource.namespaced
      ? `Namespaced${served.kind}`
      : served.kind;
  return {
    path: what.path,
    method,
    action,
    operationId: `${operationVerb(what.verb)}${pascal(resource.group)}${pascal(served.version)}${scope}${what.suffix}`,
    tag: tagOf(resource.group, served.version),
    kind: what.kind,
    parameters: [...what.parameters, PRETTY, ...parameters],
    consumes: method === "patch" ? PATCH_TYPES : ["*/*"],
    produces: RESPONSE_TYPES,
    body: isDeletion ? deleteOptions : what.verb === "create" || what.verb === "update" ? own : undefined,
    responseModel: what.verb === "list" ? schemaOf(served.listKind) : isDeletion ? status : own,
  };
}

export function tagOf(group: string, version: string): string {
  return `${group === "" ? "core" : camel(group.replace(/\.k8s\.io$/, ""))}_${version}`;
}

function operationVerb(verb: string): string {
  const named: Readonly<Record<string, string>> = {
    get: "read",
    update: "replace",
    deletecollection: "deleteCollection",
  };
  return named[verb] ?? verb;
}

export function pascal(text: string): string {
  if (text === "") return "Core";
  return text
    .replace(/\.k8s\.io$/, "")
    .split(".")
    .map((part) => part.charAt(0).toUpperCase() + part.slice(1))
    .join("");
}

function camel(text: string): string {
  const joined = pascal(text);
  return joined.charAt(0).toLowerCase() + joined.slice(1);
}

/** For each model name the kinds that the definition of the model lists in x-kubernetes-group-version-kind. */
export function kindsByModel(catalog: Catalog): ReadonlyMap<string, readonly GroupVersionKind[]> {
  const kinds = new Map<string, GroupVersionKind[]>();
  const add = (kind: GroupVersionKind): void => {
    const struct = catalog.schemas.kind(kind.group, kind.version, kind.kind);
    if (struct === undefined) return;
    const known = kinds.get(struct.name) ?? [];
    if (
      !known.some((other) => other.group === kind.group && other.version === kind.version && other.kind === kind.kind)
    )
      known.push(kind);
    kinds.set(struct.name, known);
  };
  for (const group of catalog.groups) {
    for (const version of group.versions)
      for (const kind of ["DeleteOptions", "WatchEvent"]) add({ group: group.name, version, kind });
    for (const { version, kind, listKind, subresources } of group.resources.flatMap(({ versions }) => versions)) {
      add({ group: group.name, version, kind });
      add({ group: group.name, version, kind: listKind });
      for (const { responseKind } of subresources) add(responseKind);
    }
  }
  add({ group: "", version: "v1", kind: "Status" });
  return kinds;
}

/** Describes the operations, keyed by path and then by method. */
export function describePaths(
  operations: readonly OpenApiOperation[],
  describe: (operation: OpenApiOperation) => JsonObject,
): JsonObject {
  const paths: JsonObject = {};
  for (const [path, ofPath] of sortedByPath(operations)) {
    paths[path] = Object.fromEntries(ofPath.map((one) => [one.method, describe(one)]));
  }
  return paths;
}

function sortedByPath(operations: readonly OpenApiOperation[]): Map<string, OpenApiOperation[]> {
  const paths = new Map<string, OpenApiOperation[]>();
  for (const one of [...operations].sort((left, right) =>
    left.path < right.path ? -1 : left.path > right.path ? 1 : 0,
  )) {
    paths.set(one.path, [...(paths.get(one.path) ?? []), one]);
  }
  return paths;
}
