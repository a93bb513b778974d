/** The filter that rejects new requests during the shutdown. */
import { StatusError } from "../../../meta/status-error.ts";
import type { PassingFilter } from "../chain.ts";
import { asLastResponse } from "../last-response.ts";
import type { ApiRequest, ApiResponse } from "../message.ts";
import type { OpenRequests, RequestKind } from "../open-requests.ts";
import { LOOP_GUARDS } from "../proxy-headers.ts";
import { jsonResponse, textResponse } from "../respond.ts";
import { isLongRunning, type WithInfo } from "./request-info.ts";

interface ShuttingDownOptions {
  /** True once the shutdown delay and the pre-shutdown hook have ended, until the process ends. */
  readonly isRejecting: () => boolean;
  /**
   * True if the server keeps listening while it rejects requests, and returns 429 with Retry-After, so that clients
   * retry on another connection.
   */
  readonly sendsRetryAfter: boolean;
  /** True for requests that are always served and for which the shutdown does not wait. */
  readonly isExempt: (request: ApiRequest) => boolean;
  readonly open: OpenRequests;
}

/**
 * Rejects requests that arrive while `isRejecting` is true, before they have any effect. Requests that arrived before
 * that are served, and the shutdown waits for them.
 */
export function shuttingDown(options: ShuttingDownOptions): PassingFilter<WithInfo> {
  const { isRejecting, sendsRetryAfter, isExempt, open } = options;
  return (next) => (request) => {
    if (isExempt(request)) return next(request);
    if (!isRejecting()) return open.through(kindOf(request), () => next(request));
    // A peer that receives 503 may try another server. It would pass a 429 on to its client.
    const rejection = sendsRetryAfter && !isFromPeer(request) ? tooManyRequestsResponse() : unavailable();
    return Promise.resolve(sendsRetryAfter ? asLastResponse(rejection) : rejection);
  };
}

/** The claim is not verified, because it only decides between 503 and 429. */
function isFromPeer({ claims }: WithInfo): boolean {
  return LOOP_GUARDS.some((guard) => claims.has(guard));
}

function kindOf({ info }: WithInfo): RequestKind {
  if (info.verb === "watch") return "watch";
  return isLongRunning(info) ? "endless" : "short";
}

/** As kubernetes server/filters/waitgroup.go. */
function unavailable(): ApiResponse {
  const error = new StatusError("ServiceUnavailable", "apiserver is shutting down");
  return jsonResponse(error.code, error.toStatus(), { "retry-after": "1", "x-content-type-options": "nosniff" });
}

/** As kubernetes server/filters/with_retry_after.go. */
function tooManyRequestsResponse(): ApiResponse {
  return textResponse(429, "The apiserver is shutting down, please try again later.\n", { "retry-after": "5" });
}
