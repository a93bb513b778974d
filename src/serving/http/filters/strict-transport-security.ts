/** Adds the header Strict-Transport-Security, with which browsers use only HTTPS for this host. */
import type { PassingFilter } from "../chain.ts";
import type { ApiRequest } from "../message.ts";

/** `directives`: such as max-age=31536000. Without any, no response gets the header. */
export function strictTransportSecurity(directives: readonly string[]): PassingFilter<ApiRequest> {
  if (directives.length === 0) return (next) => next;
  const header = { "strict-transport-security": directives.join("; ") };
  return (next) => async (request) => {
    const response = await next(request);
    return { ...response, headers: { ...header, ...response.headers } };
  };
}
