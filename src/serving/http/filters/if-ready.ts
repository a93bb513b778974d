/** The filter for X-Kubernetes-If-Ready, by which a client asks to be served only by a server that has been ready. */
import { serviceUnavailable } from "../../../meta/status-error.ts";
import type { Handler, PassingFilter } from "../chain.ts";
import type { ApiRequest, ApiResponse } from "../message.ts";
import { errorResponse } from "../respond.ts";

const NOT_INITIALIZED = "The APIServer has not fully initialized yet, please try again later.";

/**
 * How the header X-Kubernetes-If-Ready is treated:
 *
 * - off: the header is ignored
 * - retry: returns 503 with Retry-After until the server has been ready for the first time
 * - report: every request is served, and the response reports whether the server has been ready
 */
export type IfReadyMode = "off" | "retry" | "report";

/** The facts about a starting server that the filters use. */
export interface Starting {
  /** True from the first time at which the server was ready; never false again. */
  readonly hasBeenReady: () => boolean;
  /** The Retry-After for requests that arrive before the server is ready. */
  readonly retryAfterSeconds: () => number;
  /** True for the server's own requests, without which it could not start. */
  readonly isLoopback: (request: ApiRequest) => boolean;
}

interface IfReadyOptions extends Starting {
  readonly mode: IfReadyMode;
}

/**
 * A client that sends X-Kubernetes-If-Ready prefers a 503 to a response of a server that is not fully initialized.
 * X-Kubernetes-Ready in the response tells the client that the server supports the header. It is set on every response
 * to such a request, so this filter must wrap the filter that turns errors into responses.
 */
export function ifReady(options: IfReadyOptions): PassingFilter<ApiRequest> {
  if (options.mode === "off") return (next) => next;
  return (next) => (request) =>
    request.headers["x-kubernetes-if-ready"] === undefined ? next(request) : answer(options, next, request);
}

async function answer<Req extends ApiRequest>(
  options: IfReadyOptions,
  next: Handler<Req>,
  request: Req,
): Promise<ApiResponse> {
  const isReady = options.hasBeenReady();
  const isServed = isReady || options.mode === "report" || isExempt(request, options);
  const { status, headers, body } = isServed ? await next(request) : notReadyResponse(options);
  return { status, headers: { ...headers, "x-kubernetes-ready": isReady ? "true" : "false" }, body };
}

function notReadyResponse({ retryAfterSeconds }: Starting): ApiResponse {
  return errorResponse(serviceUnavailable(NOT_INITIALIZED, retryAfterSeconds()));
}

/** True for requests that monitor a starting server, and for the server's own requests. */
export function isExempt(request: ApiRequest, { isLoopback }: Starting): boolean {
  return WATCHED_BY.test(request.path) || isLoopback(request);
}

const WATCHED_BY = /^\/(healthz|livez|readyz|metrics)(\/|$)/;

const RETRY_AFTER_SECONDS_MAX = 30;

/** Estimates that the current start-up step needs as much time as it has taken so far. Returns 1 to 30 seconds. */
export function retryAfterStep(stepMs: number): number {
  return Math.min(Math.max(Math.ceil(stepMs / 1000), 1), RETRY_AFTER_SECONDS_MAX);
}
