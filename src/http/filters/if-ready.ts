import type { PassingFilter } from "../chain.ts";
import { serviceUnavailable, StatusError } from "../../meta/status-error.ts";
import type { ApiRequest, ApiResponse } from "../message.ts";
import { errorResponse } from "../respond.ts";

const RETRY_AFTER_SECONDS = 5;
const NOT_INITIALIZED = "The APIServer has not fully initialized yet, please try again later.";

/**
 *   off     the header is not understood
 *   retry   503 and Retry-After until the server has been ready
 *   report  every request is served, and told whether the server has been ready
 */
export type IfReadyMode = "off" | "retry" | "report";

export interface IfReadyOptions {
  readonly mode: IfReadyMode;
  /** True from the first moment the server was ready; never false again. */
  readonly hasBeenReady: () => boolean;
}

/**
 * A client that sends X-Kubernetes-If-Ready would rather wait than be answered by a server that does not
 * know everything yet. X-Kubernetes-Ready in the answer says that the wish was understood.
 */
export function ifReady(options: IfReadyOptions): PassingFilter<ApiRequest> {
  return (next) => async (request) => {
    if (options.mode === "off" || request.headers["x-kubernetes-if-ready"] === undefined) return next(request);
    const isReady = options.hasBeenReady();
    const response = isReady
      ? await answered(next(request))
      : errorResponse(serviceUnavailable(NOT_INITIALIZED, RETRY_AFTER_SECONDS));
    return { ...response, headers: { ...response.headers, "x-kubernetes-ready": String(isReady) } };
  };
}

/** Refusals carry the header too. What nobody expected is left to those who log it. */
async function answered(response: Promise<ApiResponse>): Promise<ApiResponse> {
  try {
    return await response;
  } catch (thrown) {
    if (thrown instanceof StatusError && thrown.reason !== "InternalError") return errorResponse(thrown);
    throw thrown;
  }
}
