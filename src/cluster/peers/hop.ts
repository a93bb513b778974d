/**
 * Builds the headers of a request to a peer, and selects the headers of its response that are returned to the client.
 * Pure functions.
 */
import type { User, WithUser } from "../../access/auth/user.ts";
import { forwardedHeaders, identityHeaders, keptResponseHeaders } from "../../serving/http/forwarded.ts";
import type { ResponseHeaders } from "../../serving/http/message.ts";
import { LOOP_GUARD_HEADERS, LOOP_GUARDS, PROXIED_BY_HEADER } from "../../serving/http/proxy-headers.ts";
import type { UpstreamResponse } from "../../serving/http/upstream.ts";

const GUARDS: readonly string[] = LOOP_GUARD_HEADERS.flatMap((guard) => [guard, "true"]);

/**
 * The response header by which a peer reports, with its ID, that it did nothing because it does not serve the resource.
 */
export const NOT_SERVED_HEADER = "x-evenkeel-not-served";

export const SERVED_BY_HEADER = "x-evenkeel-served-by";

const RESERVED: ReadonlySet<string> = new Set(["x-kubernetes-if-ready", ...LOOP_GUARDS]);

const RESERVED_PREFIX = "x-kubernetes-peer-";

export function hopHeaders(request: WithUser, auditId: string, selfId: string): string[] {
  const own = ["Audit-ID", auditId, PROXIED_BY_HEADER, selfId, ...GUARDS];
  return forwardedHeaders(request, { user: request.user, isReserved, own, isWatch: request.info.verb === "watch" });
}

/** The headers of requests that a server sends to its peers on its own behalf. */
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
