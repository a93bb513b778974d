/** From a request about a resource to the verb that answers it. */
import type { Handler } from "../http/chain.ts";
import type { WithInfo } from "../http/filters/request-info.ts";
import { headerValue, type ApiResponse } from "../http/message.ts";
import { acceptsJson, OFFERED } from "../http/negotiate.ts";
import { jsonResponse } from "../http/respond.ts";
import { formatGroupVersion } from "../meta/group-version.ts";
import { methodNotAllowed, notAcceptable, notFound, StatusError, unknownResource } from "../meta/status-error.ts";
import type { ServedResource } from "../registry/resource.ts";
import { translated } from "../registry/storage-errors.ts";
import { createEndpoint } from "./create.ts";
import { warningHeaders } from "./decode-body.ts";
import { deleteCollectionEndpoint, deleteEndpoint } from "./delete.ts";
import type { ResourceEndpoint } from "./endpoint.ts";
import { getEndpoint } from "./get.ts";
import { listEndpoint } from "./list.ts";
import { patchEndpoint } from "./patch.ts";
import { updateEndpoint } from "./update.ts";
import { watchEndpoint, type WatchDependencies } from "./watch.ts";

/** Finds what the group version serves; undefined when it does not serve the resource. */
export type ResolveEndpoint = (group: string, version: string, resource: string) => ResourceEndpoint | undefined;

export function resourceHandler(dependencies: WatchDependencies, resolve: ResolveEndpoint): Handler<WithInfo> {
  return async (request) => {
    const endpoint = resolve(request.info.group, request.info.version, request.info.resource);
    if (endpoint === undefined) throw unknownResource();
    refuseMisdirected(endpoint, request);
    if (!acceptsJson(headerValue(request.headers, "accept"))) throw notAcceptable(OFFERED);
    const { served, deprecation } = endpoint;
    const isStored = served !== undefined && isStoredDoor(request.info.subresource);
    const response = isStored ? await translated(() => serve(dependencies, served, request)) : notStored(endpoint, request);
    return deprecation === undefined ? response : withWarning(response, deprecation);
  };
}

function withWarning(response: ApiResponse, warning: string): ApiResponse {
  const lines = [response.headers["warning"] ?? [], warningHeaders([warning])["warning"] ?? []].flat();
  return { ...response, headers: { ...response.headers, warning: lines } };
}

/** The paths, methods and verbs that do not exist. */
function refuseMisdirected(endpoint: ResourceEndpoint, { info, method }: WithInfo): void {
  if (!endpoint.namespaced && info.namespace !== "") throw unknownResource();
  if (info.rest.length > 0 && info.subresource !== "proxy") throw unknownResource();
  const isWholeCluster = endpoint.namespaced && info.namespace === "";
  if (isWholeCluster && info.name !== "") throw unknownResource();
  const verbs = info.subresource === "" ? endpoint.verbs : endpoint.subresources.get(info.subresource);
  if (verbs === undefined) throw unknownResource();
  const needsName = info.verb === "update" || info.verb === "patch";
  if (info.verb === "" || !verbs.has(info.verb)) throw methodNotAllowed();
  // The old /watch/ paths mean a watch whatever the method says.
  if (info.verb === "watch" && method !== "GET") throw methodNotAllowed();
  if (needsName && info.name === "") throw methodNotAllowed();
  if (info.verb === "create" && info.name !== "" && info.subresource === "") throw methodNotAllowed();
  if (isWholeCluster && info.verb !== "list" && info.verb !== "watch") throw methodNotAllowed();
}

function serve(dependencies: WatchDependencies, served: ServedResource, request: WithInfo): Promise<ApiResponse> {
  const { context } = dependencies;
  switch (request.info.verb) {
    case "get":
      return getEndpoint(context, served, request);
    case "list":
      return listEndpoint(context, served, request);
    case "watch":
      return watchEndpoint(dependencies, served, request);
    case "create":
      return createEndpoint(context, served, request);
    case "update":
      return updateEndpoint(context, served, request);
    case "patch":
      return patchEndpoint(context, served, request);
    case "delete":
      return deleteEndpoint(context, served, request);
    case "deletecollection":
      return deleteCollectionEndpoint(context, served, request);
    default:
      throw methodNotAllowed();
  }
}

/** Subresources that are doors to the stored object itself. */
function isStoredDoor(subresource: string): boolean {
  return subresource === "" || subresource === "status" || subresource === "finalize";
}

/** What discovery shows but nothing answers yet, in words, and never as if it did not exist. */
function notStored(endpoint: ResourceEndpoint, { info }: WithInfo): ApiResponse {
  const { group, version, resource, kind } = endpoint;
  if (resource === "componentstatuses") {
    if (info.verb === "list") return jsonResponse(200, { kind: `${kind}List`, apiVersion: formatGroupVersion({ group, version }), metadata: {}, items: [] });
    throw notFound({ group, resource }, info.name);
  }
  const what = info.subresource === "" ? resource : `${resource}/${info.subresource}`;
  throw new StatusError("MethodNotAllowed", `${info.verb} is not supported on resources of kind ${JSON.stringify(what)} by this version of Evenkeel`, {
    details: { ...(group === "" ? {} : { group }), kind: resource },
  });
}
