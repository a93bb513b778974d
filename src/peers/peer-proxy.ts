/**
 * The filter: not served here? `route.ts` decides, `forward.ts` sends it on; the line ends there. It holds nothing but
 * what is in flight.
 */
import type { WithUser } from "../auth/user.ts";
import type { Handler, PassingFilter } from "../http/chain.ts";
import { headerValue, type ApiResponse } from "../http/message.ts";
import { errorResponse } from "../http/respond.ts";
import type { Forward } from "./forward.ts";
import { NOT_SERVED_HEADER } from "./hop.ts";
import { serviceUnavailableBecause } from "./refusals.ts";
import { decideRoute, type Route, type RouteRule } from "./route.ts";
import { StatusError } from "../meta/status-error.ts";
import type { CapabilityNeed, ClusterView } from "./view.ts";

/** By which a client says for which release it was made: peers of that release are asked first. */
const COMPATIBILITY_HEADER = "x-kubernetes-compatibility-version";

export interface PeerProxyOptions {
  readonly view: () => ClusterView;
  readonly forward: Forward;
  /** What the local server would refuse although a peer may be able to: an unknown field selector or patch type. */
  readonly unmetNeed: (request: WithUser) => CapabilityNeed | undefined;
  /** Waits until the view shows every server that has joined by now; false or a failure when that cannot be known. */
  readonly catchUp?: () => Promise<boolean>;
}

/** By these the answer is 404: that nobody serves it can be said only by who knows everybody. */
const SERVED_BY_NOBODY: ReadonlySet<RouteRule> = new Set(["alone", "subresource-unknown", "served-by-nobody"]);

export function peerProxy(options: PeerProxyOptions): PassingFilter<WithUser> {
  const { view, unmetNeed, catchUp = (): Promise<boolean> => Promise.resolve(true) } = options;
  return (next) => (request) => {
    if (!request.info.isResourceRequest) return next(request);
    const current = view();
    const route = routeOf(request, current, unmetNeed(request));
    if (!SERVED_BY_NOBODY.has(route.rule)) return follow(options, next, { request, route, current });
    return catchUp().then((isUpToDate) => {
      const newest = view();
      if (!isUpToDate) return refuse(notUpToDate(request, newest.self.id), request, newest.self.id);
      const again = routeOf(request, newest, unmetNeed(request));
      return follow(options, next, { request, route: again, current: newest });
    });
  };
}

interface Decided<Req> {
  readonly request: Req;
  readonly route: Route;
  readonly current: ClusterView;
}

function follow<Req extends WithUser>(
  { forward }: PeerProxyOptions,
  next: Handler<Req>,
  { request, route, current }: Decided<Req>,
): Promise<ApiResponse> {
  switch (route.kind) {
    case "local":
      return next(request);
    case "peer":
      return forward(request, route, current);
    case "unavailable":
      return refuse(serviceUnavailableBecause(route, request.info, current.self.id), request, current.self.id);
    case "unknown":
      return Promise.reject(notServedAnywhere(route.message));
  }
}

function notUpToDate({ info }: WithUser, selfId: string): StatusError {
  const reason = `${selfId} cannot tell whether a server has joined that serves it`;
  return serviceUnavailableBecause({ rule: "not-synced", reason, retryAfterSeconds: 1 }, info, selfId);
}

/** The server that sent it here may try another, and must be able to tell this from an answer. */
function refuse(refusal: StatusError, request: WithUser, selfId: string): Promise<ApiResponse> {
  if (!request.isProxied) return Promise.reject(refusal);
  const response = errorResponse(refusal);
  return Promise.resolve({ ...response, headers: { ...response.headers, [NOT_SERVED_HEADER]: selfId } });
}

export function routeOf(
  request: Pick<WithUser, "info" | "isProxied"> & Partial<Pick<WithUser, "headers">>,
  view: ClusterView,
  needs: CapabilityNeed | undefined,
): Route {
  const { isResourceRequest, group, version, resource, subresource, verb } = request.info;
  const { isProxied, headers = {} } = request;
  const compatibilityVersion = headerValue(headers, COMPATIBILITY_HEADER);
  return decideRoute(
    { isResourceRequest, group, version, resource, subresource, verb, isProxied, needs, compatibilityVersion },
    view,
  );
}

function notServedAnywhere(message: string): StatusError {
  return new StatusError("NotFound", message, { details: {} });
}
