/**
 * Authenticates service account tokens. The signature of a token is verified once, and the result is cached. At every
 * use, the server checks that the token has not expired and that its service account and bound objects still exist.
 */
import { hash } from "node:crypto";
import { aggregateText } from "../../../meta/aggregate-text.ts";
import type { Clock } from "../../../base/clock.ts";
import { goQuote } from "../../../meta/go-quote.ts";
import type { JsonObject } from "../../../meta/json.ts";
import type { ObjectReader } from "../../../meta/object-table.ts";
import type { TokenResult, TokenAuthenticator, TokenOwner } from "../tokens.ts";
import { boundToken } from "./bound-token.ts";
import { boundClaims, ClaimError, legacyClaims, publicClaims, type PublicClaims } from "./claims.ts";
import type { Credential } from "./credential.ts";
import { isSignedBy, parseCompactJws, type CompactJws } from "./jws.ts";
import type { VerifyingKey } from "./keys.ts";
import { LEGACY_ISSUER, legacyToken, type LegacyTokenUse } from "./legacy-token.ts";
import { LruMap } from "../../../base/lru-map.ts";

export interface ServiceAccountTokenOptions {
  /** All accepted issuers. */
  readonly issuers: readonly string[];
  readonly keys: readonly VerifyingKey[];
  /** The audiences of a token that claims none, and of a request that names none. */
  readonly apiAudiences: readonly string[];
  /** The value of `--service-account-lookup`: if true, a legacy token is invalid once its Secret is deleted. */
  readonly lookup: boolean;
  readonly objects: Pick<ObjectReader, "get" | "newest">;
  readonly clock: Pick<Clock, "now">;
  /** Called at the first use of a legacy token on each day. */
  readonly onLegacyUse?: (use: LegacyTokenUse) => void;
}

/** The user of a token, with annotations and warnings for the request. */
interface ServiceAccountTokenOwner extends TokenOwner {
  /** Annotations for the audit event. */
  readonly annotations: Readonly<Record<string, string>>;
  /** Warnings for the client. */
  readonly warnings: readonly string[];
}

/** A token with a valid signature. */
interface Verified {
  readonly claims: PublicClaims;
  readonly audiences: ReadonlySet<string>;
  /** One credential, or two if the issuer of legacy tokens is also a configured issuer. */
  readonly credentials: readonly Credential[];
}

type Verification = Verified | "unknown" | { readonly error: string };

/**
 * Maximum number of cached tokens: as many as a cluster of 5,000 nodes uses at one server. They take a few megabytes.
 */
const TOKENS_REMEMBERED_MAX = 8192;
/**
 * Limits for a cached token, well above the tokens of pods. Without them, tokens with thousands of audiences could fill
 * the memory.
 */
const REMEMBERED_CHARACTERS_MAX = 4096;
const REMEMBERED_AUDIENCES_MAX = 16;
const CRYPTO_FAILURE = "go-jose/go-jose: error in cryptographic primitive";
const LEGACY_ANNOTATION = "authentication.k8s.io/legacy-token";

export function serviceAccountTokenAuthenticator(options: ServiceAccountTokenOptions): TokenAuthenticator {
  const verified = new LruMap<Verified>(TOKENS_REMEMBERED_MAX);
  const verify = tokenVerifier(options);
  return (token, requested) => {
    const key = hash("sha256", token, "hex");
    let known: Verification | undefined = verified.get(key);
    if (known === undefined) {
      known = verify(token);
      if (known === "unknown" || "error" in known) return known;
      if (isShort(token, known)) verified.set(key, known);
    }
    return evaluateToken(known, requested, options);
  };
}

function isShort(token: string, { audiences }: Verified): boolean {
  return token.length <= REMEMBERED_CHARACTERS_MAX && audiences.size <= REMEMBERED_AUDIENCES_MAX;
}

function tokenVerifier(options: ServiceAccountTokenOptions): (token: string) => Verification {
  const { keys } = options;
  const issuers = new Set([...options.issuers, LEGACY_ISSUER]);
  const toVerified = verifiedTokens(options);
  return (token) => {
    const jws = parseCompactJws(token);
    if (jws === undefined || !issuers.has(jws.payload["iss"] as string)) return "unknown";
    const named = jws.keyId === "" ? keys : keys.filter(({ keyId }) => keyId === jws.keyId);
    if (named.length === 0) return { error: "invalid signature, no keys found" };
    if (!named.some((key) => isSignedBy(jws, key))) return { error: CRYPTO_FAILURE };
    try {
      return toVerified(jws, token);
    } catch (thrown) {
      if (thrown instanceof ClaimError) return { error: thrown.message };
      throw thrown;
    }
  };
}

function verifiedTokens(options: ServiceAccountTokenOptions): (jws: CompactJws, token: string) => Verified {
  const onUse = oncePerDay(options.onLegacyUse);
  const issuers = new Set(options.issuers);
  return ({ payload }, token) => {
    const claims = publicClaims(payload);
    const isLegacy = claims.issuer === LEGACY_ISSUER;
    const legacy = isLegacy
      ? [legacyToken(claims, legacyClaims(payload), { token, lookup: options.lookup, onUse })]
      : [];
    const bound = issuers.has(claims.issuer) ? [boundToken(claims, boundClaims(payload))] : [];
    return { claims, audiences: new Set(audiencesOf(claims, options)), credentials: [...legacy, ...bound] };
  };
}

/** The audiences that the token claims; the API audiences if it claims none. */
function audiencesOf({ audiences }: PublicClaims, { apiAudiences }: ServiceAccountTokenOptions): readonly string[] {
  return audiences.length === 0 ? apiAudiences : audiences;
}

/**
 * Reports a use once per token and day. Otherwise every request would report it until this server sees the new label.
 */
function oncePerDay(tell: ((use: LegacyTokenUse) => void) | undefined): ((use: LegacyTokenUse) => void) | undefined {
  if (tell === undefined) return undefined;
  const reported = new LruMap<string>(TOKENS_REMEMBERED_MAX);
  return (use) => {
    if (reported.get(use.uid) === use.date) return;
    reported.set(use.uid, use.date);
    tell(use);
  };
}

function evaluateToken(
  token: Verified,
  requested: readonly string[],
  options: ServiceAccountTokenOptions,
): TokenResult | Promise<TokenResult> {
  const wanted = requested.length === 0 ? options.apiAudiences : requested;
  const audiences = wanted.filter((audience) => token.audiences.has(audience));
  if (audiences.length === 0 && options.apiAudiences.length > 0) {
    const own = audiencesOf(token.claims, options);
    return { error: `token audiences ${quoted(own)} is invalid for the target audiences ${quoted(wanted)}` };
  }
  const [only, ...others] = token.credentials;
  if (only === undefined) return "unknown";
  const response = (credential: Credential): TokenResult | Promise<TokenResult> =>
    useCredential(credential, { token, audiences, options });
  return others.length === 0 ? response(only) : firstOwner(token.credentials, response);
}

interface Usage {
  readonly token: Verified;
  readonly audiences: readonly string[];
  readonly options: ServiceAccountTokenOptions;
}

function useCredential(credential: Credential, usage: Usage): TokenResult | Promise<TokenResult> {
  const { objects, clock } = usage.options;
  const problem = credential.problemNow(clock.now());
  if (problem !== undefined) return { error: problem };
  const { places } = credential;
  const known = places.map(({ resource, namespace, name }) => objects.get(resource, namespace, name));
  const response = resultFor(credential, known, usage);
  // Another server may have created the object a moment ago, so the store is read before the token is rejected.
  return "error" in response && places.length > 0 ? resultFromStore(credential, usage) : response;
}

/**
 * Checks the token against the newest objects. Throws if the store is unavailable. DIFFERS: kubernetes then returns
 * 401, as if the token were invalid.
 */
async function resultFromStore(credential: Credential, usage: Usage): Promise<TokenResult> {
  const { objects } = usage.options;
  const newest = await Promise.all(
    credential.places.map(({ resource, namespace, name }) => objects.newest(resource, namespace, name)),
  );
  return resultFor(credential, newest, usage);
}

function resultFor(
  credential: Credential,
  objects: readonly (JsonObject | undefined)[],
  { token, audiences, options }: Usage,
): ServiceAccountTokenOwner | { readonly error: string } {
  const use = { objects, nowMs: options.clock.now() };
  const error = credential.problemWith(use);
  if (error !== undefined) return { error };
  credential.used?.(use);
  const { subject, audiences: own } = token.claims;
  const legacy = own.length === 0 ? { [LEGACY_ANNOTATION]: subject } : {};
  return {
    user: credential.user,
    audiences,
    annotations: { ...legacy, ...credential.annotations(use) },
    warnings: credential.warnings(use),
  };
}

async function firstOwner(
  credentials: readonly Credential[],
  answerOf: (credential: Credential) => TokenResult | Promise<TokenResult>,
): Promise<TokenResult> {
  const errors: string[] = [];
  for (const credential of credentials) {
    const response = await answerOf(credential);
    if (response === "unknown") continue;
    if (!("error" in response)) return response;
    errors.push(response.error);
  }
  return { error: aggregateText(errors) };
}

/** Formats a list like Go's %q. DIFFERS: a long list is truncated. */
function quoted(values: Iterable<string>): string {
  const shown: string[] = [];
  let characters = 0;
  for (const value of values) {
    if (characters > QUOTED_CHARACTERS_MAX) break;
    shown.push(goQuote(value));
    characters += value.length;
  }
  return `[${shown.join(" ")}]`;
}

const QUOTED_CHARACTERS_MAX = 16 * 1024;
