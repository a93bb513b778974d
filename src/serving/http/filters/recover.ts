/** The filter that turns errors into responses. */
import type { Log } from "../../../base/log.ts";
import { StatusError } from "../../../meta/status-error.ts";
import type { PassingFilter } from "../chain.ts";
import { headerValue, type ApiRequest } from "../message.ts";
import { errorResponseFor } from "../respond.ts";

/** Turns every thrown error into a Status. No other filter catches all errors. */
export function recover(log: Log): PassingFilter<ApiRequest> {
  return (next) => async (request) => {
    try {
      return await next(request);
    } catch (thrown) {
      const error = StatusError.from(thrown);
      if (error.reason === "InternalError" && error.cause !== undefined) {
        log.error("request failed unexpectedly", {
          method: request.method,
          path: request.path,
          error: describe(error.cause),
        });
      }
      return errorResponseFor(headerValue(request.headers, "accept"), error);
    }
  };
}

function describe(cause: unknown): string {
  return cause instanceof Error ? (cause.stack ?? cause.message) : String(cause);
}
