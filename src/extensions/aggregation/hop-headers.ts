/** What a request looks like on its way to an aggregated server, and what of the answer goes back. Pure. */
import type { WithUser } from "../../access/auth/user.ts";
import { forwardedHeaders, keptResponseHeaders } from "../../serving/http/forwarded.ts";
import type { ResponseHeaders } from "../../serving/http/message.ts";
import { OWN_PREFIX } from "../../serving/http/proxy-headers.ts";
import type { UpstreamResponse } from "../../serving/http/upstream.ts";

/** With the first hop; whoever sees it and would make another is part of a circle. */
export const GUARD_HEADER = "x-evenkeel-aggregated";

const RESERVED_PREFIXES: readonly string[] = ["x-forwarded-", "x-kubernetes-"];

export function aggregatedRequestHeaders(request: WithUser, auditId: string): string[] {
  const forwarded = ["X-Forwarded-Proto", "https", "X-Forwarded-Uri", request.path];
  return forwardedHeaders(request, {
    user: request.user,
    isReserved: (name) => RESERVED_PREFIXES.some((prefix) => name.startsWith(prefix)),
    own: [...forwarded, "Audit-ID", auditId, GUARD_HEADER, "true"],
  });
}

/** Without what means something among the servers of this cluster. */
export function aggregatedResponseHeaders(response: UpstreamResponse): ResponseHeaders {
  return keptResponseHeaders(response, (name) => name.startsWith(OWN_PREFIX));
}
