/**
 * Lists the OpenAPI operations of the built-in resources of one group version. They follow from the verbs and
 * subresources of each resource.
 */
import { must } from "../../../base/assert.ts";
import type {
  Catalog,
  CatalogGroup,
  CatalogResource,
  CatalogSubresource,
  CatalogVersion,
} from "../../../objects/catalog/catalog.ts";
import type { ModelKind } from "../../../objects/catalog/schema-source.ts";
import { returnsDeletedObject } from "../../../objects/deleted-object.ts";
import type { StructSchema } from "../../../objects/schema.ts";
import { ACTIONS, connectOperationId, operationId, type ObjectAction } from "./actions.ts";
import {
  ANY_TYPE,
  metaModel,
  OBJECT_TYPES,
  PATCH_MODEL,
  responsesOf,
  type ResponseContent,
  type Method,
  type OpenApiOperation,
  type Parameter,
} from "./operation.ts";
import { tagOf } from "./operation-names.ts";
import {
  CONNECT,
  deleteParameters,
  listParameters,
  NAME,
  NAMESPACE_PARAMETER,
  PATCH,
  podLogParameters,
  PRETTY,
  SUBPATH,
  WRITE,
} from "./parameters.ts";

const PATCH_TYPES: readonly string[] = [
  "application/json-patch+json",
  "application/merge-patch+json",
  "application/strategic-merge-patch+json",
  "application/apply-patch+yaml",
];
const LIST_TYPES: readonly string[] = [
  ...OBJECT_TYPES,
  "application/json;stream=watch",
  "application/vnd.kubernetes.protobuf;stream=watch",
];
const LOG_TYPES: readonly string[] = ["text/plain", ...OBJECT_TYPES];
const STREAM_METHODS: readonly Method[] = ["get", "post"];
const PROXY_METHODS: readonly Method[] = ["delete", "get", "head", "options", "patch", "post", "put"];
const SUBRESOURCE_ACTIONS: readonly (readonly [verb: string, action: ObjectAction])[] = [
  ["create", "post"],
  ["get", "get"],
  ["update", "put"],
  ["patch", "patch"],
];

export function groupVersionRoot(group: string, version: string): string {
  return group === "" ? `/api/${version}` : `/apis/${group}/${version}`;
}

export function operationsOf(catalog: Catalog, group: CatalogGroup, version: string): OpenApiOperation[] {
  return group.resources.flatMap((resource) => {
    const served = resource.versions.find((candidate) => candidate.version === version);
    return served === undefined ? [] : resourceOperations({ catalog, resource, served });
  });
}

interface Served {
  readonly catalog: Catalog;
  readonly resource: CatalogResource;
  readonly served: CatalogVersion;
}

/** The path of an operation, and what it is the path of. */
interface Place {
  /** Relative to the group version. */
  readonly path: string;
  readonly parameters: readonly Parameter[];
  readonly kind: ModelKind;
  readonly subresource: string;
  /** True for a list or watch of a namespaced resource in all namespaces. */
  readonly isAcrossNamespaces: boolean;
}

function resourceOperations(of: Served): OpenApiOperation[] {
  const { resource, served } = of;
  const kind = { group: resource.group, version: served.version, kind: served.kind };
  const scope = resource.namespaced ? [NAMESPACE_PARAMETER] : [];
  const path = resource.namespaced ? `namespaces/{namespace}/${resource.resource}` : resource.resource;
  const collection: Place = { path, parameters: scope, kind, subresource: "", isAcrossNamespaces: false };
  const object: Place = { ...collection, path: `${path}/{name}`, parameters: [NAME, ...scope] };
  const everywhere: Place = { ...collection, path: resource.resource, parameters: [], isAcrossNamespaces: true };
  const make = (verb: string, action: ObjectAction, place: Place): OpenApiOperation[] =>
    served.verbs.includes(verb) ? [operation(of, action, place)] : [];
  // As kubernetes: the paths below /watch are deprecated, but every resource that can be listed and watched has them.
  const watch = (action: ObjectAction, place: Place): OpenApiOperation[] =>
    served.verbs.includes("list") ? make("watch", action, { ...place, path: `watch/${place.path}` }) : [];
  return [
    ...make("list", "list", collection),
    ...make("create", "post", collection),
    ...make("deletecollection", "deletecollection", collection),
    ...watch("watchlist", collection),
    ...make("get", "get", object),
    ...make("update", "put", object),
    ...make("patch", "patch", object),
    ...make("delete", "delete", object),
    ...watch("watch", object),
    ...(resource.namespaced ? [...make("list", "list", everywhere), ...watch("watchlist", everywhere)] : []),
    ...served.subresources.flatMap((subresource) => subresourceOperations(of, subresource, object)),
  ];
}

function subresourceOperations(of: Served, subresource: CatalogSubresource, object: Place): OpenApiOperation[] {
  const { name, verbs, responseKind } = subresource;
  const place: Place = { ...object, path: `${object.path}/${name}`, kind: responseKind, subresource: name };
  const options = CONNECT.get(responseKind.kind);
  if (options === undefined)
    return SUBRESOURCE_ACTIONS.flatMap(([verb, action]) =>
      verbs.includes(verb) ? [isPodLog(place) ? podLog(of, place) : operation(of, action, place)] : [],
    );
  const connected: Place = { ...place, parameters: [...place.parameters, ...options] };
  if (name !== "proxy") return STREAM_METHODS.map((method) => connection(of, method, connected));
  const below: Place = {
    ...connected,
    path: `${place.path}/{path}`,
    parameters: [...connected.parameters, SUBPATH],
  };
  return [connected, below].flatMap((one) => PROXY_METHODS.map((method) => connection(of, method, one)));
}

function operation(of: Served, action: ObjectAction, place: Place): OpenApiOperation {
  const { method, codes } = ACTIONS[action];
  const { parameters, body, content } = requestOf(of, action, place.kind);
  const isList = action === "list" || action === "watch" || action === "watchlist";
  return {
    ...common(of, place),
    method,
    operationId: operationId(action, nameOf(of, place)),
    resource: { action, kind: place.kind },
    parameters: [...place.parameters, PRETTY, ...parameters],
    consumes: action === "patch" ? PATCH_TYPES : ANY_TYPE,
    produces: isList ? LIST_TYPES : OBJECT_TYPES,
    body,
    responses: responsesOf(codes, content),
  };
}

function isPodLog({ kind, subresource }: Place): boolean {
  return subresource === "log" && kind.group === "" && kind.kind === "Pod";
}

function podLog(of: Served, place: Place): OpenApiOperation {
  return {
    ...operation(of, "get", place),
    parameters: [...place.parameters, PRETTY, ...podLogParameters(of.catalog)],
    produces: LOG_TYPES,
    responses: responsesOf([200], "string"),
  };
}

function connection(of: Served, method: Method, place: Place): OpenApiOperation {
  const suffix = place.path.endsWith("/{path}") ? "WithPath" : "";
  return {
    ...common(of, place),
    method,
    operationId: connectOperationId(method, nameOf(of, place), suffix),
    resource: { action: "connect", kind: place.kind },
    parameters: place.parameters,
    consumes: ANY_TYPE,
    produces: ANY_TYPE,
    body: undefined,
    responses: responsesOf([200], "string"),
  };
}

function common({ resource, served }: Served, { path }: Place): Pick<OpenApiOperation, "path" | "tag"> {
  return {
    path: `${groupVersionRoot(resource.group, served.version)}/${path}`,
    tag: tagOf(resource.group, served.version),
  };
}

function nameOf({ resource, served }: Served, place: Place): Parameters<typeof operationId>[1] {
  const { group, namespaced: isNamespaced } = resource;
  return { ...place, group, version: served.version, kind: served.kind, isNamespaced };
}

type RequestForm = Pick<OpenApiOperation, "body"> & {
  readonly parameters: readonly Parameter[];
  readonly content: ResponseContent;
};

/** The query parameters and the body of a request, and the content of its responses. */
function requestOf({ catalog, resource, served }: Served, action: ObjectAction, kind: ModelKind): RequestForm {
  const { schemas } = catalog;
  const model = (name: string): StructSchema =>
    must(schemas.kind(kind.group, kind.version, name), "the release has a schema of every kind that it serves");
  const meta = (name: string): StructSchema => metaModel(schemas, name);
  switch (action) {
    case "list":
      return { parameters: listParameters(catalog), body: undefined, content: model(served.listKind) };
    case "watch":
    case "watchlist":
      return { parameters: listParameters(catalog), body: undefined, content: meta("WatchEvent") };
    case "get":
      return { parameters: [], body: undefined, content: model(kind.kind) };
    case "post":
    case "put":
      return { parameters: WRITE, body: { model: model(kind.kind), isRequired: true }, content: model(kind.kind) };
    case "patch":
      return { parameters: PATCH, body: { model: PATCH_MODEL, isRequired: true }, content: model(kind.kind) };
    case "delete": {
      const content = returnsDeletedObject(resource.group, resource.resource) ? model(kind.kind) : meta("Status");
      return {
        parameters: deleteParameters(catalog),
        body: { model: meta("DeleteOptions"), isRequired: false },
        content,
      };
    }
    case "deletecollection": {
      const selection = listParameters(catalog).filter(
        ({ name }) => name !== "watch" && name !== "allowWatchBookmarks",
      );
      const body = { model: meta("DeleteOptions"), isRequired: false };
      return { parameters: [...deleteParameters(catalog), ...selection], body, content: meta("Status") };
    }
  }
}
