import { constants, createHmac, createPublicKey, sign } from "node:crypto";
import { describe, expect, test } from "vitest";
import type { JsonObject } from "../../../meta/json.ts";
import { isSignedBy, parseCompactJws, signCompactJws, TOKEN_CHARACTERS_MAX } from "./jws.ts";
import { parsePublicKeys, parseSigningKey, type SigningKey } from "./keys.ts";
import { ecPem, KEY, rsaPem } from "../../../../test/testing/access/auth/service-accounts/token-world.ts";

const rsa = parseSigningKey(rsaPem());
const PAYLOAD = { iss: "me", sub: "you" };

function encode(value: unknown): string {
  return Buffer.from(typeof value === "string" ? value : JSON.stringify(value)).toString("base64url");
}

function signedWith(header: JsonObject, key: SigningKey, hash: string, padding?: number): string {
  const signed = `${encode(header)}.${encode(PAYLOAD)}`;
  const how = {
    key: key.privateKey,
    dsaEncoding: "ieee-p1363",
    ...(padding === undefined ? {} : { padding }),
  } as const;
  return `${signed}.${sign(hash, Buffer.from(signed), how).toString("base64url")}`;
}

function isGood(token: string, key: SigningKey): boolean {
  const jws = parseCompactJws(token);
  return jws !== undefined && isSignedBy(jws, key);
}

describe("keys", () => {
  test("have an ID derived from the public key, whether they are read from the public or the private key", () => {
    const pem = createPublicKey(rsa.privateKey).export({ type: "spki", format: "pem" }).toString();
    expect(parsePublicKeys(pem).map(({ keyId }) => keyId)).toEqual([rsa.keyId]);
    expect(rsa.keyId).toMatch(/^[\w-]{43}$/);
  });

  test("may be in one file together with other keys and other PEM blocks", () => {
    const junk = "-----BEGIN EC PARAMETERS-----\nBggqhkjOPQMBBw==\n-----END EC PARAMETERS-----\n";
    const pem = `text\n${junk}${ecPem("P-384")}${rsaPem()}${ecPem("P-521")}`;
    expect(parsePublicKeys(pem).map(({ algorithm }) => algorithm)).toEqual(["ES384", "RS256", "ES512"]);
    expect(parseSigningKey(pem).algorithm).toBe("ES384");
  });

  test.each(["", "nothing", ecPem("secp256k1"), rsaPem(512)])(
    "must exist: a file without a usable key is rejected",
    (pem) => {
      expect(() => parsePublicKeys(pem)).toThrow("data does not contain any valid RSA or ECDSA public keys");
      expect(() => parseSigningKey(pem)).toThrow("data does not contain a valid RSA or ECDSA private key");
    },
  );

  test("that are public cannot sign", () => {
    const pem = createPublicKey(rsa.privateKey).export({ type: "spki", format: "pem" }).toString();
    expect(() => parseSigningKey(pem)).toThrow("private key");
  });
});

describe("signatures", () => {
  test.each([KEY, rsa, parseSigningKey(ecPem("P-384")), parseSigningKey(ecPem("P-521"))])(
    "with $algorithm are verified by the public key of the signer and by no other key",
    (key) => {
      const token = signCompactJws(PAYLOAD, key);
      expect(isGood(token, key)).toBe(true);
      expect(isGood(token, key === KEY ? parseSigningKey(ecPem()) : KEY)).toBe(false);
      expect(parseCompactJws(token)).toMatchObject({
        header: { alg: key.algorithm, kid: key.keyId },
        payload: PAYLOAD,
        keyId: key.keyId,
      });
    },
  );

  test.each([
    ["RS384", "sha384", constants.RSA_PKCS1_PADDING],
    ["RS512", "sha512", constants.RSA_PKCS1_PADDING],
    ["PS256", "sha256", constants.RSA_PKCS1_PSS_PADDING],
    ["PS512", "sha512", constants.RSA_PKCS1_PSS_PADDING],
  ])("of an RSA key are also verified with %s", (alg, hash, padding) => {
    expect(isGood(signedWith({ alg }, rsa, hash, padding), rsa)).toBe(true);
  });

  test.each<readonly [why: string, header: JsonObject]>([
    ["a token without an algorithm", {}],
    ["a token with the algorithm none", { alg: "none" }],
    ["a token with the algorithm of another key", { alg: "RS256" }],
    ["a token with the algorithm of another curve", { alg: "ES384" }],
    ["a token with a shared-secret algorithm", { alg: "HS256" }],
    ["a token with a critical header", { alg: "ES256", crit: ["b64"], b64: true }],
    ["a token with an unencoded payload", { alg: "ES256", b64: false }],
  ])("are not verified for %s", (_, header) => {
    expect(isGood(signedWith({ alg: "ES256" }, KEY, "sha256"), KEY)).toBe(true);
    expect(isGood(signedWith(header, KEY, "sha256"), KEY)).toBe(false);
  });

  test("are not verified if a public key is used as an HMAC secret", () => {
    const signed = `${encode({ alg: "HS256" })}.${encode(PAYLOAD)}`;
    const pem = rsa.publicKey.export({ type: "spki", format: "pem" });
    expect(isGood(`${signed}.${createHmac("sha256", pem).update(signed).digest("base64url")}`, rsa)).toBe(false);
  });

  test("become invalid if any character of the token is changed", () => {
    const token = signCompactJws(PAYLOAD, KEY);
    for (let at = 0; at < token.length; at++) {
      const changed = token.slice(0, at) + (token[at] === "A" ? "B" : "A") + token.slice(at + 1);
      expect(isGood(changed, KEY)).toBe(false);
    }
  });
});

test.each<readonly [why: string, token: string]>([
  ["an empty string", ""],
  ["a text of two parts", "a.b"],
  ["a text of four parts", `${signCompactJws(PAYLOAD, KEY)}.x`],
  ["base64 with padding", `${signCompactJws(PAYLOAD, KEY)}=`],
  ["base64 with a line break", `${signCompactJws(PAYLOAD, KEY)}\n`],
  ["base64 in the standard alphabet", `${encode({})}.${encode({})}.+/+/`],
  ["base64 with extra bits", `${encode({})}.${encode({})}.AB`],
  ["a header that is not an object", `${encode([])}.${encode({})}.AA`],
  ["a payload that is not an object", `${encode({})}.${encode("7")}.AA`],
  ["a payload that is not JSON", `${encode({})}.${encode("{")}.AA`],
  ["a key id that is not a string", `${encode({ kid: 7 })}.${encode({})}.AA`],
  ["a duplicate member", `${encode('{"alg":"a","alg":"b"}')}.${encode({})}.AA`],
  ["a duplicate nested member", `${encode({})}.${encode('{"a":{"b:\\"":1,"b:\\"":2}}')}.AA`],
  ["deep nesting", `${encode({})}.${encode(`{"a":${"[".repeat(40)}${"]".repeat(40)}}`)}.AA`],
  ["invalid UTF-8", `${encode({})}.${Buffer.from('{"a":"\xff"}', "latin1").toString("base64url")}.AA`],
  ["a text that is too long", `${encode({})}.${encode({ a: "x".repeat(TOKEN_CHARACTERS_MAX) })}.AA`],
])("%s is not parsed as a token", (_, token) => {
  expect(parseCompactJws(token)).toBeUndefined();
});
