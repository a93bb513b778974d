/** The route table: decides which handler serves a path. */
import { JWKS_PATH, OPENID_CONFIGURATION_PATH } from "../access/auth/service-accounts/openid.ts";
import type { WithUser } from "../access/auth/user.ts";
import type { MetricsRegistry } from "../base/metrics.ts";
import { EVENKEEL_PATHS } from "../cluster/inspect/evenkeel-endpoints.ts";
import { methodNotAllowed, StatusError } from "../meta/status-error.ts";
import type { Handler } from "../serving/http/chain.ts";
import type { WithInfo } from "../serving/http/filters/request-info.ts";
import { headerValue, type ApiResponse } from "../serving/http/message.ts";
import { parseAccept } from "../serving/http/negotiate.ts";
import { indentedResponse, pageNotFound, textResponse } from "../serving/http/respond.ts";
import type { Resolved } from "./handler-chain.ts";

export interface Routes {
  readonly resources: Handler<Resolved>;
  /** Returns undefined for paths that are not part of discovery. */
  readonly discovery: (request: WithUser) => ApiResponse | Promise<ApiResponse> | undefined;
  readonly openApi: Handler<WithUser>;
  readonly health: (request: WithInfo) => ApiResponse;
  readonly evenkeel: (request: WithUser) => ApiResponse | Promise<ApiResponse>;
  /** Returns undefined for paths that are not part of OpenID discovery. */
  readonly openId: (request: WithInfo) => ApiResponse | undefined;
  readonly version: object;
  readonly metrics: MetricsRegistry;
  readonly healthMetrics: MetricsRegistry;
}

type Route = (request: Resolved) => ApiResponse | Promise<ApiResponse>;

const METRICS_TYPE = { "content-type": "text/plain; version=0.0.4; charset=utf-8; escaping=underscores" } as const;
const VERSION_NOT_ACCEPTABLE = "406: Not Acceptable\n\nAvailable representations: application/json";
const PATHS: readonly string[] = [
  OPENID_CONFIGURATION_PATH,
  "/api",
  "/api/v1",
  "/apis",
  ...EVENKEEL_PATHS,
  "/healthz",
  "/livez",
  "/metrics",
  "/metrics/slis",
  "/openapi/v2",
  "/openapi/v3",
  JWKS_PATH,
  "/readyz",
  "/version",
];

/** As kubernetes: for these paths, a trailing slash makes a different path, which is not found. */
const EXACT: ReadonlySet<string> = new Set(["healthz", "livez", "readyz", "metrics", "openapi"]);

export function createRouter(routes: Routes): Handler<Resolved> {
  const byFirstSegment = routesByFirstSegment(routes);
  const serve: Route = (request) => {
    const { info } = request;
    if (info.path.startsWith("//")) return pageNotFound();
    const discovery = routes.discovery(request);
    if (discovery !== undefined) return discovery;
    const [first = ""] = info.segments;
    if (info.path.endsWith("/") && EXACT.has(first)) return pageNotFound();
    return byFirstSegment.get(first)?.(request) ?? pageNotFound();
  };
  return (request) => {
    const { info } = request;
    if (info.isResourceRequest && !info.path.startsWith("//")) return routes.resources(request);
    const response = serve(request);
    return response instanceof Promise ? response : Promise.resolve(response);
  };
}

function routesByFirstSegment(routes: Routes): ReadonlyMap<string, Route> {
  const { health, openApi, evenkeel } = routes;
  const index: Route = () => indentedResponse(200, { paths: PATHS });
  const openId: Route = (request) => routes.openId(request) ?? pageNotFound();
  return new Map<string, Route>([
    ["", index],
    ["index.html", onlyFirstSegment(index)],
    ["healthz", health],
    ["livez", health],
    ["readyz", health],
    ["evenkeel", evenkeel],
    ["openid", openId],
    [".well-known", openId],
    ["openapi", openApi],
    ["version", onlyFirstSegment((request) => versionOf(routes, request))],
    ["metrics", (request) => metricsOf(routes, request)],
  ]);
}

/** Restricts the route to its first path segment; paths below it are not found. */
function onlyFirstSegment(route: Route): Route {
  return (request) => (request.info.segments[1] === undefined ? route(request) : pageNotFound());
}

function versionOf({ version }: Routes, { info, headers }: Resolved): ApiResponse {
  if (info.verb !== "get") throw methodNotAllowed();
  const accepted = parseAccept(headerValue(headers, "accept") ?? "");
  if (accepted.length > 0 && !accepted.some(({ type }) => type === "application/json" || type === "*/*"))
    throw new StatusError("NotAcceptable", VERSION_NOT_ACCEPTABLE);
  return indentedResponse(200, version);
}

function metricsOf({ metrics, healthMetrics }: Routes, { info }: Resolved): ApiResponse {
  const [, second, ...rest] = info.segments;
  if (second === undefined) return textResponse(200, metrics.render(), METRICS_TYPE);
  if (second === "slis" && rest.length === 0) return textResponse(200, healthMetrics.render(), METRICS_TYPE);
  return pageNotFound();
}
