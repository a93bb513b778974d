/**
 * Reads and writes the claims of service account tokens in the format of kubernetes 1.36, and checks their validity
 * period.
 */
import { isJsonObject, type JsonObject } from "../../../meta/json.ts";
import { unmarshalError } from "../../../meta/go-fmt.ts";

/** The registered claims of a JWT. Times are seconds since the epoch. */
export interface PublicClaims {
  readonly issuer: string;
  readonly subject: string;
  readonly id: string;
  readonly audiences: readonly string[];
  readonly expiry: number | undefined;
  readonly notBefore: number | undefined;
  readonly issuedAt: number | undefined;
}

export interface ObjectClaim {
  readonly name: string;
  readonly uid: string;
}

/** The claim `kubernetes.io`. */
export interface BoundClaims {
  readonly namespace: string;
  readonly serviceAccount: ObjectClaim;
  readonly pod: ObjectClaim | undefined;
  readonly secret: ObjectClaim | undefined;
  readonly node: ObjectClaim | undefined;
  readonly warnAfter: number | undefined;
}

/** Claims of tokens that are stored in Secrets and never expire. */
export interface LegacyClaims {
  readonly namespace: string;
  readonly secretName: string;
  readonly serviceAccount: ObjectClaim;
}

/** A claim has the wrong type. A TokenReview returns the message. */
export class ClaimError extends Error {
  override readonly name = "ClaimError";
}

/** Tolerated clock skew between servers. */
export const LEEWAY_MS = 60_000;

const LEGACY = "kubernetes.io/serviceaccount/";

export function publicClaims(payload: JsonObject): PublicClaims {
  return {
    issuer: stringClaim(payload, "iss"),
    subject: stringClaim(payload, "sub"),
    id: stringClaim(payload, "jti"),
    audiences: audienceClaim(payload),
    expiry: dateClaim(payload, "exp"),
    notBefore: dateClaim(payload, "nbf"),
    issuedAt: dateClaim(payload, "iat"),
  };
}

export function boundClaims(payload: JsonObject): BoundClaims {
  const claim = objectClaim(payload, "kubernetes.io") ?? {};
  return {
    namespace: stringClaim(claim, "namespace"),
    serviceAccount: referenceClaim(claim, "serviceaccount") ?? { name: "", uid: "" },
    pod: referenceClaim(claim, "pod"),
    secret: referenceClaim(claim, "secret"),
    node: referenceClaim(claim, "node"),
    warnAfter: dateClaim(claim, "warnafter"),
  };
}

export function legacyClaims(payload: JsonObject): LegacyClaims {
  return {
    namespace: stringClaim(payload, `${LEGACY}namespace`),
    secretName: stringClaim(payload, `${LEGACY}secret.name`),
    serviceAccount: {
      name: stringClaim(payload, `${LEGACY}service-account.name`),
      uid: stringClaim(payload, `${LEGACY}service-account.uid`),
    },
  };
}

/** The reason why the token is not valid at `nowMs`; undefined if it is valid. */
export function validityProblem(claims: PublicClaims, nowMs: number): string | undefined {
  const { notBefore, expiry, issuedAt } = claims;
  if (notBefore !== undefined && nowMs + LEEWAY_MS < notBefore * 1000) return "service account token is not valid yet";
  if (expiry !== undefined && nowMs - LEEWAY_MS > expiry * 1000) return "service account token has expired";
  if (issuedAt !== undefined && nowMs + LEEWAY_MS < issuedAt * 1000)
    return "service account token is issued in the future";
  return undefined;
}

/** The payload of a token, with the fields in alphabetical order, as kubernetes writes them. */
export function claimsPayload(given: PublicClaims, about: BoundClaims): JsonObject {
  const { pod, secret, node, warnAfter } = about;
  return {
    aud: given.audiences,
    exp: given.expiry,
    iat: given.issuedAt,
    iss: given.issuer,
    ...(given.id === "" ? {} : { jti: given.id }),
    "kubernetes.io": {
      namespace: about.namespace,
      ...(node === undefined ? {} : { node: reference(node) }),
      ...(pod === undefined ? {} : { pod: reference(pod) }),
      ...(secret === undefined ? {} : { secret: reference(secret) }),
      serviceaccount: reference(about.serviceAccount),
      ...(warnAfter === undefined ? {} : { warnafter: warnAfter }),
    },
    nbf: given.notBefore,
    sub: given.subject,
  };
}

function reference({ name, uid }: ObjectClaim): JsonObject {
  return { name, ...(uid === "" ? {} : { uid }) };
}

function stringClaim(claims: JsonObject, name: string): string {
  const value = memberOf(claims, name);
  if (value === undefined) return "";
  if (typeof value !== "string") throw mismatch(value, "string");
  return value;
}

/** As kubernetes: fractions of a second are ignored. */
function dateClaim(claims: JsonObject, name: string): number | undefined {
  const value = memberOf(claims, name);
  if (value === undefined) return undefined;
  if (typeof value !== "number" || !Number.isFinite(value))
    throw new ClaimError("go-jose/go-jose/jwt: expected number value to unmarshal NumericDate");
  return Math.trunc(value);
}

function audienceClaim(claims: JsonObject): readonly string[] {
  const value = memberOf(claims, "aud");
  if (value === undefined) return [];
  if (typeof value === "string") return [value];
  if (Array.isArray(value) && value.every((item) => typeof item === "string")) return value;
  throw new ClaimError("go-jose/go-jose/jwt: expected string or array value to unmarshal to Audience");
}

function referenceClaim(claims: JsonObject, name: string): ObjectClaim | undefined {
  const value = objectClaim(claims, name);
  return value && { name: stringClaim(value, "name"), uid: stringClaim(value, "uid") };
}

function objectClaim(claims: JsonObject, name: string): JsonObject | undefined {
  const value = memberOf(claims, name);
  if (value === undefined || isJsonObject(value)) return value;
  throw mismatch(value, name === "kubernetes.io" ? "serviceaccount.kubernetes" : "serviceaccount.ref");
}

/** As Go: null counts as absent. */
function memberOf(claims: JsonObject, name: string): unknown {
  return Object.hasOwn(claims, name) ? (claims[name] ?? undefined) : undefined;
}

function mismatch(value: unknown, type: string): ClaimError {
  return new ClaimError(unmarshalError(value, `value of type ${type}`));
}
