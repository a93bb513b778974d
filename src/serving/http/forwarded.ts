/**
 * Selects the headers of a request that are forwarded to another server, and the response headers that are returned to
 * the client. Has no side effects.
 */
import { StatusError } from "../../meta/status-error.ts";
import { headerValue, type ApiRequest, type ResponseHeaders } from "./message.ts";
import {
  HOP_BY_HOP_HEADERS,
  OWN_PREFIX,
  REMOTE_EXTRA_PREFIX,
  REMOTE_GROUP_HEADER,
  REMOTE_UID_HEADER,
  REMOTE_USER_HEADER,
} from "./proxy-headers.ts";
import type { UpstreamResponse } from "./upstream.ts";
import { offeredProtocols, PROTOCOL_HEADER } from "./web-socket-protocols.ts";

/** The user on whose behalf a server sends a request. */
export interface ForwardedUser {
  readonly name: string;
  readonly uid: string;
  readonly groups: readonly string[];
  readonly extra: Readonly<Record<string, readonly string[]>>;
}

/** Headers that concern only one connection, or that this server sets itself when it forwards a request. */
const DROPPED: ReadonlySet<string> = new Set([
  ...HOP_BY_HOP_HEADERS,
  "host",
  "content-length",
  "expect",
  "authorization",
  "audit-id",
  "x-forwarded-for",
]);

/**
 * Prefixes of headers that name the user, or that are used only between the servers of a cluster. `http2-settings`
 * concerns only one connection.
 */
const DROPPED_PREFIXES: readonly string[] = ["x-remote-", OWN_PREFIX, "impersonate-", "http2-"];

interface ForwardedAs {
  readonly user: ForwardedUser;
  /** True for further header names, in lower case, that clients must not set. */
  readonly isReserved: (name: string) => boolean;
  /** Headers that this server adds, as alternating names and values. */
  readonly own: readonly string[];
  /**
   * True for a watch. Its events are then not compressed: a server that shuts down ends the stream of another server
   * between two events, and could not find the end of a compressed one.
   */
  readonly isWatch: boolean;
}

/**
 * Returns the headers of the forwarded request. Drops hop-by-hop headers first, including those that `Connection`
 * lists, and then sets the identity. In this order, a client can neither remove a header that this server sets nor
 * forge one.
 */
export function forwardedHeaders(request: ApiRequest, hop: ForwardedAs): string[] {
  const named = connectionOptions(request);
  const headers: string[] = [];
  const all = request.rawHeaders ?? flatHeaders(request.headers);
  for (let index = 0; index + 1 < all.length; index += 2) {
    const name = all[index]!.toLowerCase();
    if (isDropped(name) || named.has(name) || hop.isReserved(name)) continue;
    if (hop.isWatch && name === "accept-encoding") continue;
    const value = all[index + 1]!;
    headers.push(all[index]!, name === PROTOCOL_HEADER ? offeredProtocols(value).others.join(", ") : value);
  }
  const before = headerValue(request.headers, "x-forwarded-for");
  const { remoteAddress } = request.connection;
  headers.push("X-Forwarded-For", before === undefined ? remoteAddress : `${before}, ${remoteAddress}`);
  headers.push(...identityHeaders(hop.user), ...hop.own);
  if (isUpgrade(request)) headers.push("Connection", "Upgrade", "Upgrade", headerValue(request.headers, "upgrade")!);
  return headers;
}

function isDropped(name: string): boolean {
  return DROPPED.has(name) || DROPPED_PREFIXES.some((prefix) => name.startsWith(prefix));
}

/** The headers that name the user on whose behalf this server sends a request. */
export function identityHeaders(user: ForwardedUser): string[] {
  const headers = [REMOTE_USER_HEADER, headerText(user.name)];
  if (user.uid !== "") headers.push(REMOTE_UID_HEADER, headerText(user.uid));
  for (const group of user.groups) headers.push(REMOTE_GROUP_HEADER, headerText(group));
  for (const [key, values] of Object.entries(user.extra)) {
    for (const value of values) headers.push(`${REMOTE_EXTRA_PREFIX}${escapedKey(key)}`, headerText(value));
  }
  return headers;
}

export function isUpgrade(request: ApiRequest): boolean {
  return (
    request.connection.protocol === "http/1.1" &&
    headerValue(request.headers, "upgrade") !== undefined &&
    connectionOptions(request).has("upgrade")
  );
}

const NO_NAMES: ReadonlySet<string> = new Set();

function connectionOptions({ headers }: ApiRequest): ReadonlySet<string> {
  const value = headerValue(headers, "connection");
  if (value === undefined) return NO_NAMES;
  return new Set(value.split(",").map((name) => name.trim().toLowerCase()));
}

function flatHeaders(headers: ApiRequest["headers"]): string[] {
  return Object.entries(headers).flatMap(([name, value]) =>
    value === undefined ? [] : [value].flat().flatMap((one) => [name, one]),
  );
}

/**
 * Encodes header text. Header values are bytes: non-ASCII text is sent as UTF-8, as Go does. Text with a blank at
 * either end is rejected, because the blank would be lost and the peer would see a different user.
 */
function headerText(text: string): string {
  if (/^[ \t]|[ \t]$/.test(text))
    throw new StatusError(
      "InternalError",
      "the caller's identity begins or ends with a blank, which a header cannot carry to a peer",
    );
  return Buffer.from(text, "utf8").toString("latin1");
}

/** As kubernetes headerKeyEscape: escapes the percent sign and every character that is not allowed in a header name. */
function escapedKey(key: string): string {
  let escaped = "";
  for (const byte of Buffer.from(key, "utf8")) {
    const char = String.fromCharCode(byte);
    escaped += /[!#$&'*+.^_`|~0-9A-Za-z-]/.test(char) ? char : `%${byte.toString(16).toUpperCase().padStart(2, "0")}`;
  }
  return escaped;
}

const RESPONSE_DROPPED: ReadonlySet<string> = new Set([...HOP_BY_HOP_HEADERS, "x-kubernetes-ready"]);

/** Headers that a response with status 101 must have. */
const SWITCHING: ReadonlySet<string> = new Set(["connection", "upgrade"]);

/** CORS headers, which are valid only for responses of the server that set them. */
const RESPONSE_DROPPED_PREFIX = "access-control-allow-";

export function keptResponseHeaders(
  { status, headers }: UpstreamResponse,
  isReserved: (name: string) => boolean,
): ResponseHeaders {
  // A Map, so that a header name such as `constructor` does not match an inherited property.
  const kept = new Map<string, string | string[]>();
  for (let index = 0; index + 1 < headers.length; index += 2) {
    const name = headers[index]!.toLowerCase();
    const isLeftOut = RESPONSE_DROPPED.has(name) || name.startsWith(RESPONSE_DROPPED_PREFIX) || isReserved(name);
    if (isLeftOut && !(status === 101 && SWITCHING.has(name))) continue;
    const before = kept.get(name);
    const value = headers[index + 1]!;
    kept.set(name, before === undefined ? value : [before, value].flat());
  }
  return Object.fromEntries(kept);
}

/** The value of the first header with this name. `wanted` is in lower case. */
export function responseHeader({ headers }: UpstreamResponse, wanted: string): string | undefined {
  for (let index = 0; index + 1 < headers.length; index += 2) {
    if (headers[index]!.toLowerCase() === wanted) return headers[index + 1];
  }
  return undefined;
}
