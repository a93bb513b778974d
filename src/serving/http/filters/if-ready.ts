import { serviceUnavailable } from "../../../meta/status-error.ts";
import type { Handler, PassingFilter } from "../chain.ts";
import type { ApiRequest, ApiResponse } from "../message.ts";
import { errorResponse } from "../respond.ts";

const NOT_INITIALIZED = "The APIServer has not fully initialized yet, please try again later.";

/**
 *   off     the header is not understood
 *   retry   503 and Retry-After until the server has been ready
 *   report  every request is served, and told whether the server has been ready
 */
export type IfReadyMode = "off" | "retry" | "report";

/** What filters know of a server that starts. */
export interface Starting {
  /** True from the first moment the server was ready; never false again. */
  readonly hasBeenReady: () => boolean;
  /** When a client that comes too early had better come again. */
  readonly retryAfterSeconds: () => number;
  /** The server's own calls, without which it could not start. */
  readonly isLoopback: (request: ApiRequest) => boolean;
}

interface IfReadyOptions extends Starting {
  readonly mode: IfReadyMode;
}

/**
 * A client that sends X-Kubernetes-If-Ready would rather wait than be answered by a server that does not
 * know everything yet. X-Kubernetes-Ready in the answer says that the wish was understood. It stands on every answer
 * that goes through here, so this filter stands before the one that makes answers of whatever is thrown.
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
  const { status, headers, body } = isServed ? await next(request) : refusal(options);
  return { status, headers: { ...headers, "x-kubernetes-ready": isReady ? "true" : "false" }, body };
}

function refusal({ retryAfterSeconds }: Starting): ApiResponse {
  return errorResponse(serviceUnavailable(NOT_INITIALIZED, retryAfterSeconds()));
}

/** What a server is watched by while it starts, and what it starts by itself. */
export function isExempt(request: ApiRequest, { isLoopback }: Starting): boolean {
  return WATCHED_BY.test(request.path) || isLoopback(request);
}

const WATCHED_BY = /^\/(healthz|livez|readyz|metrics)(\/|$)/;

const RETRY_AFTER_SECONDS_MAX = 30;

/** Nobody knows how long a step of start-up takes: as long again as it has taken already is a fair guess. */
export function retryAfterStep(stepMs: number): number {
  return Math.min(Math.max(Math.ceil(stepMs / 1000), 1), RETRY_AFTER_SECONDS_MAX);
}
