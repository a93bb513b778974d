/** What a request looks like on its way to a peer, and what of the answer goes back. Pure. */
import type { User, WithUser } from "../../access/auth/user.ts";
import { forwardedHeaders, identityHeaders, keptResponseHeaders } from "../../serving/http/forwarded.ts";
import type { ResponseHeaders } from "../../serving/http/message.ts";
import { LOOP_GUARD_HEADERS, LOOP_GUARDS, PROXIED_BY_HEADER } from "../../serving/http/proxy-headers.ts";
import type { UpstreamResponse } from "../../serving/http/upstream.ts";

const GUARDS: readonly string[] = LOOP_GUARD_HEADERS.flatMap((guard) => [guard, "true"]);

/** In an answer, with the ID of who says so: it did nothing, because it does not serve what it was asked for. */
export const NOT_SERVED_HEADER = "x-evenkeel-not-served";

export const SERVED_BY_HEADER = "x-evenkeel-served-by";

const RESERVED: ReadonlySet<string> = new Set(["x-kubernetes-if-ready", ...LOOP_GUARDS]);

const RESERVED_PREFIX = "x-kubernetes-peer-";

export function hopHeaders(request: WithUser, auditId: string, selfId: string): string[] {
  const own = ["Audit-ID", auditId, PROXIED_BY_HEADER, selfId, ...GUARDS];
  return forwardedHeaders(request, { user: request.user, isReserved, own });
}

/** For what a server asks its peers on its own behalf. */
export function ownHeaders(user: User): string[] {
  return [...identityHeaders(user), "User-Agent", "evenkeel", ...GUARDS];
}

function isReserved(name: string): boolean {
  return RESERVED.has(name) || name.startsWith(RESERVED_PREFIX);
}

export function peerResponseHeaders(response: UpstreamResponse): ResponseHeaders {
  return keptResponseHeaders(response, isForTheSource);
}

function isForTheSource(name: string): boolean {
  return name === NOT_SERVED_HEADER || name === SERVED_BY_HEADER;
}
