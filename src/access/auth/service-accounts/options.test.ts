import { createPublicKey } from "node:crypto";
import { describe, expect, test } from "vitest";
import { infoRequest } from "../../../../test/testing/serving/http/requests.ts";
import { parseSigningKey } from "./keys.ts";
import { openIdDocuments, type OpenIdOptions } from "./openid.ts";
import { openIdHandler } from "./openid-handler.ts";
import { serviceAccountOptions, type ServiceAccountFlags } from "./options.ts";
import { ecPem, rsaPem } from "../../../../test/testing/access/auth/service-accounts/token-world.ts";

const signing = { file: "sa.key", pem: ecPem() };
const rsa = { file: "rsa.key", pem: rsaPem() };
const { keyId } = parseSigningKey(signing.pem);
const HOUR_MS = 3_600_000;

describe("serviceAccountOptions", () => {
  test("uses the default issuer, also as the audience, if no flags are set", () => {
    expect(serviceAccountOptions({ signingKey: signing })).toMatchObject({
      issuers: ["https://kubernetes.default.svc.cluster.local"],
      apiAudiences: ["https://kubernetes.default.svc.cluster.local"],
      keys: [{ keyId }],
      signingKey: { keyId },
      jwksUri: undefined,
      maxExpirationSeconds: 0,
      extendsExpiration: true,
      lookup: true,
    });
  });

  test("uses all issuers as audiences unless audiences are configured", () => {
    const issuers = ["https://a", "b"];
    expect(serviceAccountOptions({ issuers }).apiAudiences).toEqual(issuers);
    expect(serviceAccountOptions({ issuers, apiAudiences: ["c"] }).apiAudiences).toEqual(["c"]);
  });

  test("verifies tokens with the signing key as well as the configured keys, without duplicates", () => {
    const own = {
      file: "sa.pub",
      pem: createPublicKey(signing.pem).export({ type: "spki", format: "pem" }).toString(),
    };
    const ids = (keyFiles: ServiceAccountFlags["keyFiles"]): string[] =>
      serviceAccountOptions({ keyFiles, signingKey: signing }).keys.map((key) => key.keyId);
    const otherId = parseSigningKey(rsa.pem).keyId;
    expect(ids([rsa])).toEqual([otherId, keyId]);
    expect(ids([own, rsa])).toEqual([keyId, otherId]);
  });

  test.each<readonly [flags: ServiceAccountFlags, message: string]>([
    [{ issuers: [""] }, "service-account-issuer should not be an empty string"],
    [{ issuers: ["a", "a"] }, 'service-account-issuer "a" is already specified'],
    [{ issuers: [":"] }, `service-account-issuer ":" contained a ':' but was not a valid URL`],
    [{ jwksUri: "http://a/b" }, "service-account-jwks-uri requires https scheme, parsed as: http://a/b"],
    [{ jwksUri: "a" }, "service-account-jwks-uri must be a valid URL"],
    [
      { maxTokenExpirationMs: HOUR_MS - 1 },
      "the service-account-max-token-expiration must be between 1 hour and 2^32 seconds",
    ],
    [
      { signingKey: { file: "x", pem: "" } },
      "--service-account-signing-key-file x is invalid: data does not contain a valid RSA or ECDSA private key",
    ],
    [
      { keyFiles: [{ file: "x", pem: "" }] },
      "--service-account-key-file x is invalid: data does not contain any valid RSA or ECDSA public keys",
    ],
  ])("rejects %j", (flags, message) => {
    expect(() => serviceAccountOptions(flags)).toThrow(new Error(message));
  });
});

function openId(options: Partial<OpenIdOptions> = {}): OpenIdOptions {
  const { issuers, keys } = serviceAccountOptions({
    issuers: ["https://issuer"],
    keyFiles: [rsa],
    signingKey: signing,
  });
  return { issuers, keys, jwksUri: undefined, externalAddress: "192.0.2.2:6443", ...options };
}

describe("openIdDocuments", () => {
  test("returns a discovery document that refers to the keys, byte for byte as kubernetes writes it", () => {
    expect(openIdDocuments(openId()).configuration.toString()).toBe(
      '{"issuer":"https://issuer","jwks_uri":"https://192.0.2.2:6443/openid/v1/jwks","response_types_supported":["id_token"],"subject_types_supported":["public"],"id_token_signing_alg_values_supported":["ES256","RS256"]}',
    );
    const elsewhere = openIdDocuments(openId({ jwksUri: "https://x/?a&b" }));
    expect(elsewhere.configuration.toString()).toContain(String.raw`"jwks_uri":"https://x/?a\u0026b"`);
  });

  test("returns a key set that contains only public keys", () => {
    const { keys } = JSON.parse(openIdDocuments(openId()).keySet.toString()) as { keys: object[] };
    expect(keys.map((key) => Object.keys(key))).toEqual([
      ["use", "kty", "kid", "alg", "n", "e"],
      ["use", "kty", "kid", "crv", "alg", "x", "y"],
    ]);
    expect(keys[1]).toMatchObject({ use: "sig", kty: "EC", kid: keyId, crv: "P-256", alg: "ES256" });
  });

  test.each<readonly [options: Partial<OpenIdOptions>, message: string]>([
    [{ issuers: ["http://a"] }, "issuer URL must use https scheme, got: http://a"],
    [{ issuers: ["robots"] }, "issuer URL must use https scheme, got: robots"],
    [{ issuers: ["https://a?b"] }, "issuer URL may not include a query, got: https://a?b"],
    [{ issuers: ["https://a#b"] }, "issuer URL may not include a fragment, got: https://a#b"],
    [{ keys: [] }, "no keys provided for validating keyset"],
  ])("throws for the options %j", (options, message) => {
    expect(() => openIdDocuments(openId(options))).toThrow(new Error(message));
  });
});

describe("openIdHandler", () => {
  const documents = { configuration: Buffer.from("{}"), keySet: Buffer.from("[]") };
  const handle = openIdHandler(() => documents);

  test.each([
    ["/.well-known/openid-configuration", "application/json", "{}"],
    ["/openid/v1/jwks", "application/jwk-set+json", "[]"],
    ["/openid/v1/jwks/", "application/jwk-set+json", "[]"],
  ])("serves %s as %s, cacheable for an hour", (url, type, text) => {
    const response = handle(infoRequest({ url, headers: { accept: `text/html, ${type};q=0.5` } }));
    expect(response).toMatchObject({
      status: 200,
      headers: { "content-type": type, "cache-control": "public, max-age=3600" },
      body: { chunks: [Buffer.from(text)] },
    });
  });

  test("rejects other methods and content types, and ignores other paths", () => {
    expect(handle(infoRequest({ url: "/openid/v1" }))).toBeUndefined();
    expect(openIdHandler(() => undefined)(infoRequest({ url: "/openid/v1/jwks" }))).toBeUndefined();
    expect(() => handle(infoRequest({ method: "HEAD", url: "/openid/v1/jwks" }))).toThrow("does not allow this method");
    const accept = "application/json";
    expect(() => handle(infoRequest({ url: "/openid/v1/jwks", headers: { accept } }))).toThrow(
      "406: Not Acceptable\n\nAvailable representations: application/jwk-set+json",
    );
  });
});
