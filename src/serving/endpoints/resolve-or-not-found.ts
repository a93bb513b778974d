/**
 * The filter that resolves a resource request once: to the endpoint of this server that serves it, or to another
 * server. Later filters read `request.endpoint`. This is the only file that returns 404 because no server serves the
 * path of a resource, except for a creation whose CRD is deleted meanwhile (endpoint-cache.ts).
 */
import type { Filter, Handler } from "../http/chain.ts";
import type { WithInfo } from "../http/filters/request-info.ts";
import type { ApiResponse } from "../http/message.ts";
import type { RequestInfo } from "../http/request-info.ts";
import { pageNotFound } from "../http/respond.ts";
import { badRequest, methodNotAllowed, notFound, StatusError, unknownResource } from "../../meta/status-error.ts";
import type { ResourceEndpoint } from "./endpoint.ts";

/** Finds the endpoint of a resource; undefined if the group version does not serve it. */
export type ResolveEndpoint = (group: string, version: string, resource: string) => ResourceEndpoint | undefined;

export interface WithEndpoint {
  /** Undefined for non-resource requests. */
  readonly endpoint: ResourceEndpoint | undefined;
}

export interface Ways<Req> {
  /** Serves the request here. Returns 404 if this server does not serve the resource. */
  readonly here: Handler<Req>;
  /** Creates the 404 error for a resource that no server of the cluster serves. */
  readonly unknown: (message: string) => StatusError;
}

/** Sends a request to another server if that server must serve it, and otherwise calls `here`. */
export type RouteRequest<Req> = (request: Req, ways: Ways<Req>) => Promise<ApiResponse>;

export interface ResolveRequestOptions<Req> {
  readonly resolve: ResolveEndpoint;
  /** Reads the newest CRD of a resource that this server does not know. Absent if this server has no CRDs. */
  readonly settle?: (asked: RequestInfo) => Promise<void>;
  /**
   * True if an unserved resource of the group returns a Status. As kubernetes: a group that is not built in has only
   * the paths of its CRDs, and all other paths return a plain 404 page.
   */
  readonly isApiGroup: (group: string) => boolean;
  /** Absent if the peer proxy is disabled. */
  readonly route?: RouteRequest<Req>;
}

export function resolveRequest<Req extends WithInfo>(
  options: ResolveRequestOptions<Req>,
): Filter<Req, Req & WithEndpoint> {
  const { resolve, settle, isApiGroup, route } = options;
  const unknown = (message: string): StatusError => new StatusError("NotFound", message, { details: {} });
  return (next) => {
    const serve = (request: Req, endpoint: ResourceEndpoint): Promise<ApiResponse> => {
      if (!isApiGroup(endpoint.group) && isOutOfScope(endpoint, request.info)) return Promise.resolve(pageNotFound());
      rejectMisdirected(endpoint, request);
      return next(Object.assign(request, { endpoint }));
    };
    const here = async (request: Req): Promise<ApiResponse> => {
      const { group, version, resource } = request.info;
      const known = resolve(group, version, resource);
      if (known !== undefined) return serve(request, known);
      await settle?.(request.info);
      const settled = resolve(group, version, resource);
      if (settled !== undefined) return serve(request, settled);
      if (isApiGroup(group)) throw unknownResource();
      return pageNotFound();
    };
    const ways: Ways<Req> = { here, unknown };
    return (request) => {
      if (!request.info.isResourceRequest) return next(Object.assign(request, { endpoint: undefined }));
      return route === undefined ? here(request) : route(request, ways);
    };
  };
}

function isOutOfScope({ namespaced }: ResourceEndpoint, { namespace, verb }: RequestInfo): boolean {
  return namespaced ? namespace === "" && verb !== "list" && verb !== "watch" : namespace !== "";
}

/** Rejects paths, methods and verbs that the endpoint does not have. */
function rejectMisdirected(endpoint: ResourceEndpoint, { info, method }: WithInfo): void {
  const isCustom = endpoint.served?.custom !== undefined;
  rejectUnknownPath(endpoint, info);
  const verbs = info.subresource === "" ? endpoint.verbs : endpoint.subresources.get(info.subresource);
  if (isCustom) rejectMisdirectedCustom(endpoint, info, verbs);
  if (verbs === undefined) throw unknownResource();
  // As kubernetes: built-in resources accept HEAD and OPTIONS only for the subresource proxy.
  const isProxied = info.subresource === "proxy" && (method === "HEAD" || method === "OPTIONS");
  if (!isProxied && (info.verb === "" || !verbs.has(info.verb))) throw methodNotAllowed();
  if (method === "HEAD" && !isProxied && !isCustom) throw methodNotAllowed();
  // The old /watch/ paths have the verb watch, whatever the method is.
  if (info.verb === "watch" && method !== "GET") throw methodNotAllowed();
  rejectVerbAtPath(endpoint, info);
}

function rejectUnknownPath(endpoint: ResourceEndpoint, info: RequestInfo): void {
  if (!endpoint.namespaced && info.namespace !== "") throw unknownResource();
  if (info.rest.length > 0 && info.subresource !== "proxy") throw unknownResource();
  if (!isAllNamespaces(endpoint, info)) return;
  if (info.name !== "" || !endpoint.verbs.has("list")) throw unknownResource();
}

/** Rejects a verb that requires a name, forbids a name, or exists only inside a namespace, if the path does not fit. */
function rejectVerbAtPath(endpoint: ResourceEndpoint, info: RequestInfo): void {
  if (needsName(info) && info.name === "") throw methodNotAllowed();
  if (info.verb === "create" && info.name !== "" && info.subresource === "") throw methodNotAllowed();
  if (isAllNamespaces(endpoint, info) && info.verb !== "list" && info.verb !== "watch") throw methodNotAllowed();
}

function isAllNamespaces({ namespaced }: ResourceEndpoint, { namespace }: RequestInfo): boolean {
  return namespaced && namespace === "";
}

/**
 * Rejects requests to custom resources with the messages of kubernetes, which differ from those for built-in resources.
 */
function rejectMisdirectedCustom(
  { group, resource }: ResourceEndpoint,
  info: RequestInfo,
  verbs: ReadonlySet<string> | undefined,
): void {
  if (verbs === undefined) throw notFound({ group, resource }, info.name);
  if (info.verb !== "" && !verbs.has(info.verb))
    throw new StatusError(
      "MethodNotAllowed",
      `${info.verb} is not supported on resources of kind ${JSON.stringify(`${resource}.${group}`)}`,
      { details: { group, kind: resource } },
    );
  if (needsName(info) && info.name === "") throw badRequest("name must be provided");
}

function needsName({ verb }: RequestInfo): boolean {
  return verb === "update" || verb === "patch";
}
