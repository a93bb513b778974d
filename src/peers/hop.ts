/** What a request looks like on its way to a peer, and what of the answer goes back. Pure. */
import type { User, WithUser } from "../auth/user.ts";
import { headerValue, type ResponseHeaders } from "../http/message.ts";
import type { UpstreamResponse } from "../http/upstream.ts";
import { StatusError } from "../meta/status-error.ts";

/** Planned and released name of the loop guard: both are sent, both are honoured. */
export const GUARD_HEADERS = ["X-Kubernetes-APIServer-Rerouted", "X-Kubernetes-Peer-Proxied"] as const;

/** In an answer, with the ID of who says so: it did nothing, because it does not serve what it was asked for. */
export const NOT_SERVED_HEADER = "x-evenkeel-not-served";

export const SERVED_BY_HEADER = "x-evenkeel-served-by";

/** Concerns one connection only, or is set anew for the hop. */
const DROPPED: ReadonlySet<string> = new Set([
  "connection",
  "keep-alive",
  "proxy-connection",
  "proxy-authenticate",
  "proxy-authorization",
  "te",
  "trailer",
  "transfer-encoding",
  "upgrade",
  "host",
  "content-length",
  "expect",
  "authorization",
  "x-kubernetes-if-ready",
  "x-forwarded-for",
  "audit-id",
]);

const DROPPED_PREFIXES: readonly string[] = [
  "x-remote-",
  "x-kubernetes-peer-",
  "x-evenkeel-",
  "impersonate-",
  "http2-",
];

/**
 * Hop-by-hop headers go first, those named by `Connection` included; then identity is set. In this order no client can
 * make a header of ours disappear, and none of its own passes for ours.
 */
export function hopHeaders(request: WithUser, auditId: string): string[] {
  const named = connectionOptions(request);
  const headers: string[] = [];
  const all = request.rawHeaders ?? flatHeaders(request.headers);
  for (let index = 0; index + 1 < all.length; index += 2) {
    const name = all[index]!.toLowerCase();
    if (DROPPED.has(name) || named.has(name) || isReserved(name)) continue;
    headers.push(all[index]!, all[index + 1]!);
  }
  const before = headerValue(request.headers, "x-forwarded-for");
  const { remoteAddress } = request.connection;
  headers.push("X-Forwarded-For", before === undefined ? remoteAddress : `${before}, ${remoteAddress}`);
  pushIdentity(headers, request.user);
  headers.push("Audit-ID", auditId);
  for (const guard of GUARD_HEADERS) headers.push(guard, "true");
  if (isUpgrade(request)) headers.push("Connection", "Upgrade", "Upgrade", headerValue(request.headers, "upgrade")!);
  return headers;
}

/** For what a server asks its peers on its own behalf. */
export function ownHeaders(user: User): string[] {
  const headers: string[] = [];
  pushIdentity(headers, user);
  headers.push("User-Agent", "evenkeel");
  for (const guard of GUARD_HEADERS) headers.push(guard, "true");
  return headers;
}

export function isUpgrade(request: WithUser): boolean {
  return (
    request.connection.protocol === "http/1.1" &&
    headerValue(request.headers, "upgrade") !== undefined &&
    connectionOptions(request).has("upgrade")
  );
}

function connectionOptions(request: WithUser): ReadonlySet<string> {
  const value = headerValue(request.headers, "connection");
  if (value === undefined) return NO_NAMES;
  return new Set(value.split(",").map((name) => name.trim().toLowerCase()));
}

const NO_NAMES: ReadonlySet<string> = new Set();

function isReserved(name: string): boolean {
  return DROPPED_PREFIXES.some((prefix) => name.startsWith(prefix)) || name === "x-kubernetes-apiserver-rerouted";
}

function flatHeaders(headers: WithUser["headers"]): string[] {
  return Object.entries(headers).flatMap(([name, value]) =>
    value === undefined ? [] : [value].flat().flatMap((one) => [name, one]),
  );
}

function pushIdentity(headers: string[], user: User): void {
  headers.push("X-Remote-User", headerText(user.name));
  if (user.uid !== "") headers.push("X-Remote-Uid", headerText(user.uid));
  for (const group of user.groups) headers.push("X-Remote-Group", headerText(group));
  for (const [key, values] of Object.entries(user.extra)) {
    for (const value of values) headers.push(`X-Remote-Extra-${escapedKey(key)}`, headerText(value));
  }
}

/**
 * Header values are bytes: text beyond ASCII travels as UTF-8, as Go sends it. Blanks at either end get lost on the way,
 * and whoever had them would arrive as somebody else.
 */
function headerText(text: string): string {
  if (/^[ \t]|[ \t]$/.test(text))
    throw new StatusError(
      "InternalError",
      "the identity of the caller begins or ends with a blank, which no peer can be told",
    );
  return Buffer.from(text, "utf8").toString("latin1");
}

/** As kubernetes headerKeyEscape: whatever is no token character, and the percent sign itself, is escaped. */
function escapedKey(key: string): string {
  let escaped = "";
  for (const byte of Buffer.from(key, "utf8")) {
    const char = String.fromCharCode(byte);
    escaped += /[!#$&'*+.^_`|~0-9A-Za-z-]/.test(char) ? char : `%${byte.toString(16).toUpperCase().padStart(2, "0")}`;
  }
  return escaped;
}

/** Names this server to browsers of other sites, or is meant for the source alone. */
const ANSWER_DROPPED: ReadonlySet<string> = new Set([
  "connection",
  "keep-alive",
  "proxy-connection",
  "transfer-encoding",
  "trailer",
  "access-control-allow-credentials",
  "access-control-allow-headers",
  "access-control-allow-methods",
  "access-control-allow-origin",
  NOT_SERVED_HEADER,
  SERVED_BY_HEADER,
  "x-kubernetes-ready",
]);

export function answerHeaders({ status, headers }: UpstreamResponse): ResponseHeaders {
  // A name such as `constructor` must find nothing that the object inherits.
  const kept = new Map<string, string | string[]>();
  for (let index = 0; index + 1 < headers.length; index += 2) {
    const name = headers[index]!.toLowerCase();
    if (ANSWER_DROPPED.has(name) && !(status === 101 && name === "connection")) continue;
    const before = kept.get(name);
    const value = headers[index + 1]!;
    kept.set(name, before === undefined ? value : [before, value].flat());
  }
  return Object.fromEntries(kept);
}

export function answerHeader({ headers }: UpstreamResponse, wanted: string): string | undefined {
  for (let index = 0; index + 1 < headers.length; index += 2) {
    if (headers[index]!.toLowerCase() === wanted) return headers[index + 1];
  }
  return undefined;
}
