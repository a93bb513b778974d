/** The headers of a request to an aggregated server, and of the response that is sent to the client. Pure. */
import type { WithUser } from "../../access/auth/user.ts";
import { forwardedHeaders, keptResponseHeaders } from "../../serving/http/forwarded.ts";
import type { ResponseHeaders } from "../../serving/http/message.ts";
import { OWN_PREFIX } from "../../serving/http/proxy-headers.ts";
import type { UpstreamResponse } from "../../serving/http/upstream.ts";

/**
 * Set on a request that is proxied to an aggregated server. A server that receives this header and would proxy the
 * request again has found a loop.
 */
export const GUARD_HEADER = "x-evenkeel-aggregated";

const RESERVED_PREFIXES: readonly string[] = ["x-forwarded-", "x-kubernetes-"];

export function aggregatedRequestHeaders(request: WithUser, auditId: string): string[] {
  const forwarded = ["X-Forwarded-Proto", "https", "X-Forwarded-Uri", request.path];
  return forwardedHeaders(request, {
    user: request.user,
    isReserved: (name) => RESERVED_PREFIXES.some((prefix) => name.startsWith(prefix)),
    own: [...forwarded, "Audit-ID", auditId, GUARD_HEADER, "true"],
    isWatch: request.info.verb === "watch",
  });
}

/** Drops the response headers that only servers of this cluster may set. */
export function aggregatedResponseHeaders(response: UpstreamResponse): ResponseHeaders {
  return keptResponseHeaders(response, (name) => name.startsWith(OWN_PREFIX));
}
