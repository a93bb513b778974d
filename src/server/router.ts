/** The route table: which handler serves a path. */
import { JWKS_PATH, OPENID_CONFIGURATION_PATH } from "../access/auth/service-accounts/openid.ts";
import type { WithUser } from "../access/auth/user.ts";
import type { MetricsRegistry } from "../base/metrics.ts";
import type { Handler } from "../serving/http/chain.ts";
import type { WithInfo } from "../serving/http/filters/request-info.ts";
import type { ApiResponse } from "../serving/http/message.ts";
import { jsonResponse, pageNotFound, textResponse } from "../serving/http/respond.ts";
import { isHealthPath } from "../serving/endpoints/health.ts";
import { methodNotAllowed } from "../meta/status-error.ts";
import { CLUSTER_PATHS, isClusterPath } from "../cluster/peers/cluster-endpoints.ts";
import { INSPECT_PATHS } from "../cluster/inspect/inspect-endpoints.ts";
import type { Resolved } from "./handler-chain.ts";
import { PURGE_PATH } from "../cluster/inspect/purge-endpoint.ts";

export interface Routes {
  readonly resources: Handler<Resolved>;
  /** Undefined for paths that are not discovery's. */
  readonly discovery: (request: WithUser) => ApiResponse | Promise<ApiResponse> | undefined;
  readonly openApi: Handler<WithUser>;
  readonly health: (request: WithInfo) => ApiResponse;
  readonly cluster: (request: WithInfo) => ApiResponse;
  /** Undefined for paths that are not its own. */
  readonly inspect: (request: WithInfo) => ApiResponse | undefined;
  /** Undefined for paths that are not its own. */
  readonly purge: (request: WithUser) => Promise<ApiResponse> | undefined;
  /** Undefined for paths that are not its own. */
  readonly openId: (request: WithInfo) => ApiResponse | undefined;
  readonly version: object;
  readonly metrics: MetricsRegistry;
  readonly healthMetrics: MetricsRegistry;
}

const METRICS_TYPE = { "content-type": "text/plain; version=0.0.4; charset=utf-8; escaping=underscores" } as const;
const PATHS: readonly string[] = [
  OPENID_CONFIGURATION_PATH,
  "/api",
  "/api/v1",
  "/apis",
  ...[...CLUSTER_PATHS, ...INSPECT_PATHS, PURGE_PATH].toSorted(),
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

export function createRouter(routes: Routes): Handler<Resolved> {
  return async (request) => {
    const { info } = request;
    if (info.path.startsWith("//")) return pageNotFound();
    if (info.isResourceRequest) return routes.resources(request);
    const discovery = routes.discovery(request);
    if (discovery !== undefined) return discovery;
    const [first, second] = info.segments;
    if (info.path.endsWith("/") && isExact(first)) return pageNotFound();
    if (isHealthPath(first)) return routes.health(request);
    if (isClusterPath(first)) return routes.purge(request) ?? routes.inspect(request) ?? routes.cluster(request);
    if (first === "openid" || first === ".well-known") return routes.openId(request) ?? pageNotFound();
    if (first === "openapi") return routes.openApi(request);
    if (first === undefined || (first === "index.html" && second === undefined))
      return jsonResponse(200, { paths: PATHS });
    if (first === "version" && second === undefined) {
      if (info.verb !== "get") throw methodNotAllowed();
      return jsonResponse(200, routes.version);
    }
    if (first === "metrics" && second === undefined) return textResponse(200, routes.metrics.render(), METRICS_TYPE);
    if (first === "metrics" && second === "slis" && info.segments.length === 2)
      return textResponse(200, routes.healthMetrics.render(), METRICS_TYPE);
    return pageNotFound();
  };
}

/** As kubernetes: behind these a slash makes another path. */
function isExact(first: string | undefined): boolean {
  return isHealthPath(first) || first === "metrics" || first === "openapi";
}
