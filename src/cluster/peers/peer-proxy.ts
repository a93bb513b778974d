/**
 * The mixed version proxy: `route.ts` decides which server serves a request, and `forward.ts` sends the request there.
 */
import type { WithUser } from "../../access/auth/user.ts";
import type { RouteRequest, Ways } from "../../serving/endpoints/resolve-or-not-found.ts";
import type { ApiResponse, RequestBody } from "../../serving/http/message.ts";
import { errorResponse } from "../../serving/http/respond.ts";
import type { Forward } from "./forward.ts";
import { NOT_SERVED_HEADER } from "./hop.ts";
import type { ProxiedResource } from "./proxy-metrics.ts";
import { serviceUnavailableBecause } from "./unavailable-responses.ts";
import { decideRoute, isMinorVersion, type Route, type RouteFacts, type RouteRule } from "./route.ts";
import { StatusError } from "../../meta/status-error.ts";
import type { CapabilityNeed, ClusterView } from "./view.ts";

/** The header in which a client names the release for which it was built. Servers of that release are preferred. */
const COMPATIBILITY_HEADER = "x-kubernetes-compatibility-version";

interface PeerProxyOptions {
  readonly view: () => ClusterView;
  readonly forward: Forward;
  /** Called for a request that peers serve, if the address of none of them is known. */
  readonly onUnresolved?: (asked: ProxiedResource) => void;
  /**
   * The feature for lack of which the local server would reject the request, although a peer may support it: a field
   * selector or a patch type.
   */
  readonly unmetNeed: (request: WithUser) => CapabilityNeed | undefined;
  /** Whether routing considers the client's compatibility version. */
  readonly isVersionAware: boolean;
  /**
   * Waits until the view includes every server that had joined when it was called. Resolves to false, or rejects, if
   * that cannot be determined.
   */
  readonly catchUp?: () => Promise<boolean>;
}

/**
 * The rules that may lead to 404. They are applied only after catching up with the newest peer leases; otherwise a
 * server that has just joined could be missed.
 */
const NOT_FOUND_RULES: ReadonlySet<RouteRule> = new Set([
  "alone",
  "judged-locally",
  "subresource-unknown",
  "served-by-nobody",
]);

export function peerProxy<Req extends WithUser>(options: PeerProxyOptions): RouteRequest<Req> {
  return (request, ways) => {
    const hasHeader =
      options.isVersionAware && !request.isProxied && request.headers[COMPATIBILITY_HEADER] !== undefined;
    if (!hasHeader) return proxy(options, ways, request);
    const release = clientRelease(request);
    if (release !== undefined) return proxy(options, ways, request, release);
    return proxy(options, ways, request).then(warned, warnedError);
  };
}

/** The client's compatibility version; undefined if the header is absent or invalid. */
export function clientRelease({ headers }: Pick<WithUser, "headers">): string | undefined {
  const said = headers[COMPATIBILITY_HEADER];
  return typeof said === "string" && isMinorVersion(said) ? said : undefined;
}

function proxy<Req extends WithUser>(
  options: PeerProxyOptions,
  ways: Ways<Req>,
  request: Req,
  compatibilityVersion?: string,
): Promise<ApiResponse> {
  const { view, unmetNeed, catchUp = (): Promise<boolean> => Promise.resolve(true) } = options;
  const current = view();
  const route = routeOf(request, current, { needs: unmetNeed(request), compatibilityVersion });
  if (!NOT_FOUND_RULES.has(route.rule)) return follow(options, ways, { request, route, current });
  return catchUp().then((isUpToDate) => {
    const newest = view();
    if (!isUpToDate) return rejectUnavailable(notUpToDate(request, newest.self.id), request, newest.self.id);
    const again = routeOf(request, newest, { needs: unmetNeed(request), compatibilityVersion });
    return follow(options, ways, { request, route: again, current: newest });
  });
}

const MALFORMED_WARNING = `299 - "the header X-Kubernetes-Compatibility-Version is ignored: it must name one release, such as 1.36"`;

function warned(response: ApiResponse): ApiResponse {
  const warning = [response.headers["warning"] ?? [], MALFORMED_WARNING].flat();
  return { ...response, headers: { ...response.headers, warning } };
}

/**
 * Responses that reject the request carry the warning as well. An internal error is left to the filter that reports it.
 */
function warnedError(thrown: unknown): ApiResponse {
  if (!(thrown instanceof StatusError) || thrown.reason === "InternalError") throw thrown;
  return warned(errorResponse(thrown));
}

interface Decided<Req> {
  readonly request: Req;
  readonly route: Route;
  readonly current: ClusterView;
}

function follow<Req extends WithUser>(
  { forward, onUnresolved }: PeerProxyOptions,
  { here, unknown }: Ways<Req>,
  { request, route, current }: Decided<Req>,
): Promise<ApiResponse> {
  switch (route.kind) {
    case "local":
      return here(request);
    case "peer":
      return forward(request, route, current, route.fallback && ((body) => here(withBody(request, body))));
    case "unavailable":
      if (route.isUnresolved) onUnresolved?.(request.info);
      return rejectUnavailable(
        serviceUnavailableBecause(route, request.info, current.self.id),
        request,
        current.self.id,
      );
    case "unknown":
      return Promise.reject(unknown(route.message));
  }
}

function withBody<Req extends WithUser>(request: Req, body: RequestBody): Req {
  return body === request.body ? request : { ...request, body };
}

function notUpToDate({ info }: WithUser, selfId: string): StatusError {
  const reason = `${selfId} has not caught up with the newest peer leases: another server may serve it`;
  return serviceUnavailableBecause({ rule: "not-synced", reason, retryAfterSeconds: 1 }, info, selfId);
}

/** Adds the header by which the peer that proxied the request recognizes that it may try another server. */
function rejectUnavailable(rejection: StatusError, request: WithUser, selfId: string): Promise<ApiResponse> {
  if (!request.isProxied) return Promise.reject(rejection);
  const response = errorResponse(rejection);
  return Promise.resolve({ ...response, headers: { ...response.headers, [NOT_SERVED_HEADER]: selfId } });
}

export function routeOf(
  { info, isProxied }: Pick<WithUser, "info" | "isProxied">,
  view: ClusterView,
  { needs, compatibilityVersion }: Pick<RouteFacts, "needs" | "compatibilityVersion">,
): Route {
  const { isResourceRequest, group, version, resource, subresource, verb } = info;
  return decideRoute(
    { isResourceRequest, group, version, resource, subresource, verb, isProxied, needs, compatibilityVersion },
    view,
  );
}
