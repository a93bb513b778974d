import { StatusError } from "../../../meta/status-error.ts";
import type { PassingFilter } from "../chain.ts";
import { asLastAnswer } from "../last-answer.ts";
import type { ApiRequest, ApiResponse } from "../message.ts";
import type { OpenRequests, RequestKind } from "../open-requests.ts";
import { LOOP_GUARDS } from "../proxy-headers.ts";
import { jsonResponse, textResponse } from "../respond.ts";
import { isLongRunning, type WithInfo } from "./request-info.ts";

interface ShuttingDownOptions {
  /** From some moment on, for ever. */
  readonly isRefusing: () => boolean;
  /** The server goes on listening: who comes is told to come again, on another connection. */
  readonly sendsRetryAfter: boolean;
  /** Is served to the end, and nobody waits for it. */
  readonly isExempt: (request: ApiRequest) => boolean;
  readonly open: OpenRequests;
}

/** Requests that came before are served and waited for; what comes later is refused before anybody has done anything. */
export function shuttingDown(options: ShuttingDownOptions): PassingFilter<WithInfo> {
  const { isRefusing, sendsRetryAfter, isExempt, open } = options;
  return (next) => (request) => {
    if (isExempt(request)) return next(request);
    if (!isRefusing()) return open.through(kindOf(request), () => next(request));
    // A peer that is told 503 may ask somebody else; 429 would be the answer for its client.
    const refusal = sendsRetryAfter && !isFromPeer(request) ? comeAgain() : unavailable();
    return Promise.resolve(sendsRetryAfter ? asLastAnswer(refusal) : refusal);
  };
}

/** Nobody has verified that. It decides how to refuse, no more. */
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
function comeAgain(): ApiResponse {
  return textResponse(429, "The apiserver is shutting down, please try again later.\n", { "retry-after": "5" });
}
