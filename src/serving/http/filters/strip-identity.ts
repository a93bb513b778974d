/**
 * Removes the headers by which a front proxy or a peer names the user and marks a proxied request. Any client can send
 * these headers, so they are removed before any filter that depends on the user or on the sender of the request. Their
 * values are kept as claims. Authentication uses them only after it has verified the sender.
 */
import type { Filter } from "../chain.ts";
import type { ApiRequest } from "../message.ts";
import {
  LOOP_GUARDS,
  OWN_PREFIX,
  REMOTE_EXTRA_PREFIX,
  REMOTE_GROUP_HEADER,
  REMOTE_UID_HEADER,
  REMOTE_USER_HEADER,
} from "../proxy-headers.ts";

/** The values of each identity header, one for each line sent, keyed by the header name in lower case. */
export type IdentityClaims = ReadonlyMap<string, readonly string[]>;

export interface WithClaims extends ApiRequest {
  /** The claims of the client, which are not verified. */
  readonly claims: IdentityClaims;
}

export interface StripIdentityOptions {
  /** Header names that are removed in addition to the conventional ones, in any casing. */
  readonly headerNames: ReadonlySet<string>;
  readonly headerPrefixes: readonly string[];
}

export const NO_CLAIMS: IdentityClaims = new Map();

const CONVENTIONAL_NAMES: readonly string[] = [REMOTE_USER_HEADER, REMOTE_UID_HEADER, REMOTE_GROUP_HEADER];
const CONVENTIONAL_PREFIXES: readonly string[] = [REMOTE_EXTRA_PREFIX, OWN_PREFIX];

type Matcher = (name: string) => boolean;

/** Shared by all requests without claims, which are nearly all requests. */
const UNCLAIMED: Pick<WithClaims, "claims"> = { claims: NO_CLAIMS };

export function stripIdentity(options: StripIdentityOptions): Filter<ApiRequest, WithClaims> {
  const isSpoofable = createMatcher(options);
  return (next) => (request) =>
    next(Object.assign(request, hasClaims(request, isSpoofable) ? setAside(request, isSpoofable) : UNCLAIMED));
}

function createMatcher({ headerNames, headerPrefixes }: StripIdentityOptions): Matcher {
  const names = new Set([...CONVENTIONAL_NAMES, ...LOOP_GUARDS, ...headerNames].map((name) => name.toLowerCase()));
  const prefixes = [...CONVENTIONAL_PREFIXES, ...headerPrefixes].map((prefix) => prefix.toLowerCase());
  // The first letters of the removed names. Few other headers begin with one of these letters, so most names need only
  // one comparison.
  const initials = new Uint8Array(128);
  for (const start of [...names, ...prefixes]) {
    initials[start.charCodeAt(0)] = 1;
    initials[start.toUpperCase().charCodeAt(0)] = 1;
  }
  return (name) => {
    if (initials[name.charCodeAt(0)] !== 1) return false;
    const lowerCase = name.toLowerCase();
    return names.has(lowerCase) || prefixes.some((prefix) => lowerCase.startsWith(prefix));
  };
}

/** Searches the parsed and the raw headers, because later code may read either of them. */
function hasClaims({ headers, rawHeaders }: ApiRequest, isSpoofable: Matcher): boolean {
  for (const name in headers) if (isSpoofable(name)) return true;
  if (rawHeaders === undefined) return false;
  for (let index = 0; index < rawHeaders.length; index += 2) if (isSpoofable(rawHeaders[index]!)) return true;
  return false;
}

function setAside(request: ApiRequest, isSpoofable: Matcher): Partial<ApiRequest> & Pick<WithClaims, "claims"> {
  const headers = Object.fromEntries(Object.entries(request.headers).filter(([name]) => !isSpoofable(name)));
  if (request.rawHeaders === undefined) return { headers, claims: claimsIn(request, isSpoofable) };
  const rawHeaders: string[] = [];
  const claims = new Map<string, string[]>();
  for (let index = 0; index + 1 < request.rawHeaders.length; index += 2) {
    const name = request.rawHeaders[index]!;
    const value = request.rawHeaders[index + 1]!;
    if (isSpoofable(name)) addClaim(claims, name, value);
    else rawHeaders.push(name, value);
  }
  return { headers, rawHeaders, claims };
}

function claimsIn({ headers }: ApiRequest, isSpoofable: Matcher): IdentityClaims {
  const claims = new Map<string, string[]>();
  for (const [name, value] of Object.entries(headers)) {
    if (value === undefined || !isSpoofable(name)) continue;
    for (const line of [value].flat()) addClaim(claims, name, line);
  }
  return claims;
}

function addClaim(claims: Map<string, string[]>, name: string, value: string): void {
  const lowerCase = name.toLowerCase();
  const values = claims.get(lowerCase);
  if (values === undefined) claims.set(lowerCase, [value]);
  else values.push(value);
}
