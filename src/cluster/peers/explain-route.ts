/**
 * Explains how this server would route a request and why, without sending it. The report shows the result of
 * `route.ts`.
 */
import type { WithInfo } from "../../serving/http/filters/request-info.ts";
import { Query } from "../../serving/http/query.ts";
import { parseRequestInfo, type RequestInfo } from "../../serving/http/request-info.ts";
import { badRequest } from "../../meta/status-error.ts";
import { routeOf } from "./peer-proxy.ts";
import { isMinorVersion, RULES, type Route, type RouteRule } from "./route.ts";
import type { CapabilityNeed, ClusterView } from "./view.ts";

interface RouteExplanation {
  readonly kind: "RouteExplanation";
  readonly apiVersion: "evenkeel.io/v1";
  /** The server that explains its route. */
  readonly server: { readonly id: string; readonly release: string };
  readonly request: ExplainedRequest;
  readonly route: ExplainedRoute;
}

interface ExplainedRequest extends Omit<RequestInfo, "apiPrefix" | "segments" | "rest"> {
  readonly method: string;
  readonly path: string;
  /** The Content-Type of a patch; absent for other requests. */
  readonly contentType?: string;
  /** A feature for lack of which this server would reject the request, while another server might accept it. */
  readonly needs?: CapabilityNeed;
  /** The client's compatibility version. */
  readonly compatibilityVersion?: string;
}

interface ExplainedRoute {
  readonly kind: Route["kind"];
  /** Absent if the proxy is off, because no rule is applied then. */
  readonly rule?: RouteRule;
  /** The sentence that describes the rule in general. */
  readonly sentence?: string;
  /** The reason for this request in particular. */
  readonly reason: string;
  /**
   * The IDs of the candidates, best tier first; all servers of a tier are equal. If the local server also serves the
   * request, it is last.
   */
  readonly candidates?: readonly (readonly string[])[];
  readonly retryAfterSeconds?: number;
  /** The server to which the reason refers. */
  readonly peer?: string;
  /** The message of the 404. */
  readonly message?: string;
}

export interface ExplainOptions {
  readonly view: () => ClusterView;
  readonly isProxyEnabled: boolean;
  readonly isVersionAware: boolean;
  readonly unmetNeed: (request: Pick<WithInfo, "info" | "query" | "headers">) => CapabilityNeed | undefined;
}

interface RouteQuestion {
  /** A Kubernetes verb or an HTTP method, in upper or lower case. */
  readonly verb: string;
  /** The path, optionally with a query. */
  readonly path: string;
  readonly contentType?: string | undefined;
  /** The value of the client's X-Kubernetes-Compatibility-Version header. */
  readonly compatibilityVersion?: string | undefined;
}

const METHODS: ReadonlyMap<string, string> = new Map([
  ["get", "GET"],
  ["list", "GET"],
  ["watch", "GET"],
  ["create", "POST"],
  ["update", "PUT"],
  ["patch", "PATCH"],
  ["delete", "DELETE"],
  ["deletecollection", "DELETE"],
  ["post", "POST"],
  ["put", "PUT"],
  ["head", "HEAD"],
  ["options", "OPTIONS"],
]);
const PATH_LENGTH_MAX = 8_192;
const DEFAULT_PATCH_TYPE = "application/merge-patch+json";
const PROXY_OFF = "the mixed version proxy is off on this server: it serves every request itself";

export function explainRoute(options: ExplainOptions, asked: RouteQuestion): RouteExplanation {
  const { method, path, query, info } = parseAsked(asked);
  const contentType = method === "PATCH" ? (asked.contentType ?? DEFAULT_PATCH_TYPE) : undefined;
  const headers = contentType === undefined ? {} : { "content-type": contentType };
  const needs = options.isProxyEnabled ? options.unmetNeed({ info, query, headers }) : undefined;
  const compatibilityVersion = options.isVersionAware ? asked.compatibilityVersion : undefined;
  const view = options.view();
  const { isResourceRequest, verb, group, version, namespace, resource, subresource, name } = info;
  const facts = { isResourceRequest, verb, group, version, namespace, resource, subresource, name };
  return {
    kind: "RouteExplanation",
    apiVersion: "evenkeel.io/v1",
    server: view.self,
    request: {
      method,
      path,
      ...facts,
      ...(contentType === undefined ? {} : { contentType }),
      ...(needs === undefined ? {} : { needs }),
      ...(compatibilityVersion === undefined ? {} : { compatibilityVersion }),
    },
    route: options.isProxyEnabled
      ? explained(routeOf({ info, isProxied: false }, view, { needs, compatibilityVersion }), view.self.id)
      : { kind: "local", reason: PROXY_OFF },
  };
}

function parseAsked({ verb, path: target, compatibilityVersion }: RouteQuestion): {
  readonly method: string;
  readonly path: string;
  readonly query: Query;
  readonly info: RequestInfo;
} {
  const method = METHODS.get(verb.toLowerCase());
  if (method === undefined)
    throw badRequest(`the verb must be one of ${[...METHODS.keys()].join(", ")}, not ${JSON.stringify(verb)}`);
  if (compatibilityVersion !== undefined && !isMinorVersion(compatibilityVersion))
    throw badRequest(
      `the compatibility version must be a release such as 1.36, not ${JSON.stringify(compatibilityVersion)}`,
    );
  if (!target.startsWith("/") || target.length > PATH_LENGTH_MAX)
    throw badRequest(`the path must begin with a slash and be at most ${PATH_LENGTH_MAX} characters long`);
  const mark = target.indexOf("?");
  const path = mark < 0 ? target : target.slice(0, mark);
  const rawQuery = mark < 0 ? "" : target.slice(mark + 1);
  const query = new Query(verb.toLowerCase() === "watch" ? `watch=true&${rawQuery}` : rawQuery);
  const info = parseRequestInfo(method, path, query);
  if (info === undefined) throw badRequest("the path cannot be decoded");
  return { method, path: target, query, info };
}

function explained(route: Route, selfId: string): ExplainedRoute {
  const { kind, rule, reason } = route;
  return { kind, rule, sentence: RULES[rule], reason, ...details(route, selfId) };
}

function details(route: Route, selfId: string): Omit<ExplainedRoute, "kind" | "rule" | "sentence" | "reason"> {
  switch (route.kind) {
    case "local":
      return {};
    case "peer": {
      const peers = route.candidates.map((tier) => tier.map(({ id }) => id));
      return { candidates: route.fallback === "local" ? [...peers, [selfId]] : peers };
    }
    case "unavailable": {
      const { retryAfterSeconds, peerId } = route;
      return { retryAfterSeconds, ...(peerId === undefined ? {} : { peer: peerId }) };
    }
    case "unknown":
      return { message: route.message };
  }
}
