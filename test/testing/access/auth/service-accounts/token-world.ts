/** Signing keys, a service account and the objects that a server reads to authenticate its tokens, for tests. */
import { generateKeyPairSync } from "node:crypto";
import type { TokenRequestSpec } from "../../../../../src/serving/endpoints/subresources/token-request/token-request-spec.ts";
import type { Random } from "../../../../../src/base/random.ts";
import type { GroupResource } from "../../../../../src/meta/group-version.ts";
import type { JsonObject } from "../../../../../src/meta/json.ts";
import type { ObjectReader } from "../../../../../src/meta/object-table.ts";
import { parseSigningKey, type SigningKey } from "../../../../../src/access/auth/service-accounts/keys.ts";
import { createTokenIssuer } from "../../../../../src/access/auth/service-accounts/token-issuer.ts";
import {
  serviceAccountTokenAuthenticator,
  type ServiceAccountTokenOptions,
} from "../../../../../src/access/auth/service-accounts/token-authenticator.ts";

export const NOW = Date.UTC(2026, 0, 1);
export const ISSUER = "https://issuer.example";
export const ACCOUNT = { name: "robot", uid: "account-uid" };

export function ecPem(namedCurve = "P-256"): string {
  const { privateKey } = generateKeyPairSync("ec", { namedCurve });
  return privateKey.export({ type: "sec1", format: "pem" }).toString();
}

export function rsaPem(modulusLength = 2048): string {
  const { privateKey } = generateKeyPairSync("rsa", { modulusLength });
  return privateKey.export({ type: "pkcs1", format: "pem" }).toString();
}

export const KEY: SigningKey = parseSigningKey(ecPem());

export const RANDOM: Random = { float: () => 0, bytes: (length) => new Uint8Array(length) };

/** `known`: objects in the cache, which `get` returns. `stored`: objects in the store, which `newest` returns. */
export interface World {
  readonly known: Map<string, JsonObject>;
  readonly stored: Map<string, JsonObject>;
  readonly requests: string[];
  nowMs: number;
}

export function world(): World {
  const account = object("robot", "account-uid");
  const known = new Map([["serviceaccounts/ns/robot", account]]);
  return { known, stored: new Map(known), requests: [], nowMs: NOW };
}

export function put(to: World, place: string, stored: JsonObject): void {
  to.known.set(place, stored);
  to.stored.set(place, stored);
}

export function object(name: string, uid: string, more: JsonObject = {}): JsonObject {
  return { metadata: { name, namespace: "ns", uid, ...more } };
}

export function reader({ known, stored, requests: asked }: World): Pick<ObjectReader, "get" | "newest"> {
  const place = ({ resource }: GroupResource, namespace: string, name: string): string =>
    `${resource}/${namespace}/${name}`;
  return {
    get: (resource, namespace, name) => known.get(place(resource, namespace, name)),
    newest: async (resource, namespace, name) => {
      asked.push(place(resource, namespace, name));
      return stored.get(place(resource, namespace, name));
    },
  };
}

export function authenticator(
  of: World,
  options: Partial<ServiceAccountTokenOptions> = {},
): ReturnType<typeof serviceAccountTokenAuthenticator> {
  return serviceAccountTokenAuthenticator({
    issuers: [ISSUER],
    keys: [KEY],
    apiAudiences: ["api"],
    lookup: true,
    objects: reader(of),
    clock: { now: () => of.nowMs },
    ...options,
  });
}

export function issued(spec: Partial<TokenRequestSpec> = {}, issuer = ISSUER): string {
  const issue = createTokenIssuer(issuer, KEY, RANDOM);
  const { token } = issue({
    namespace: "ns",
    serviceAccount: ACCOUNT,
    audiences: ["api"],
    expirationSeconds: 3600,
    hasId: true,
    nowMs: NOW,
    ...spec,
  });
  return token;
}
