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
  test("the key id is the digest of the public key, whichever half it is read from", () => {
    const pem = createPublicKey(rsa.privateKey).export({ type: "spki", format: "pem" }).toString();
    expect(parsePublicKeys(pem).map(({ keyId }) => keyId)).toEqual([rsa.keyId]);
    expect(rsa.keyId).toMatch(/^[\w-]{43}$/);
  });

  test("a file may hold several keys, and blocks that are none", () => {
    const junk = "-----BEGIN EC PARAMETERS-----\nBggqhkjOPQMBBw==\n-----END EC PARAMETERS-----\n";
    const pem = `text\n${junk}${ecPem("P-384")}${rsaPem()}${ecPem("P-521")}`;
    expect(parsePublicKeys(pem).map(({ algorithm }) => algorithm)).toEqual(["ES384", "RS256", "ES512"]);
    expect(parseSigningKey(pem).algorithm).toBe("ES384");
  });

  test.each(["", "nothing", ecPem("secp256k1"), rsaPem(512)])("what holds no usable key is refused", (pem) => {
    expect(() => parsePublicKeys(pem)).toThrow("data does not contain any valid RSA or ECDSA public keys");
    expect(() => parseSigningKey(pem)).toThrow("data does not contain a valid RSA or ECDSA private key");
  });

  test("a public key signs nothing", () => {
    const pem = createPublicKey(rsa.privateKey).export({ type: "spki", format: "pem" }).toString();
    expect(() => parseSigningKey(pem)).toThrow("private key");
  });
});

describe("signatures", () => {
  test.each([KEY, rsa, parseSigningKey(ecPem("P-384")), parseSigningKey(ecPem("P-521"))])(
    "what $algorithm signs is verified by its public half, and by no other",
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
  ])("an RSA key also verifies %s", (alg, hash, padding) => {
    expect(isGood(signedWith({ alg }, rsa, hash, padding), rsa)).toBe(true);
  });

  test.each<readonly [why: string, header: JsonObject]>([
    ["no algorithm", {}],
    ["the algorithm none", { alg: "none" }],
    ["an algorithm of another key", { alg: "RS256" }],
    ["an algorithm of another curve", { alg: "ES384" }],
    ["a shared secret", { alg: "HS256" }],
    ["a critical header", { alg: "ES256", crit: ["b64"], b64: true }],
    ["a payload that is not encoded", { alg: "ES256", b64: false }],
  ])("%s proves nothing", (_, header) => {
    expect(isGood(signedWith({ alg: "ES256" }, KEY, "sha256"), KEY)).toBe(true);
    expect(isGood(signedWith(header, KEY, "sha256"), KEY)).toBe(false);
  });

  test("the public key is nobody's shared secret", () => {
    const signed = `${encode({ alg: "HS256" })}.${encode(PAYLOAD)}`;
    const pem = rsa.publicKey.export({ type: "spki", format: "pem" });
    expect(isGood(`${signed}.${createHmac("sha256", pem).update(signed).digest("base64url")}`, rsa)).toBe(false);
  });

  test("nothing of a token can be changed", () => {
    const token = signCompactJws(PAYLOAD, KEY);
    for (let at = 0; at < token.length; at++) {
      const changed = token.slice(0, at) + (token[at] === "A" ? "B" : "A") + token.slice(at + 1);
      expect(isGood(changed, KEY)).toBe(false);
    }
  });
});

test.each<readonly [why: string, token: string]>([
  ["nothing", ""],
  ["two parts", "a.b"],
  ["four parts", `${signCompactJws(PAYLOAD, KEY)}.x`],
  ["padding", `${signCompactJws(PAYLOAD, KEY)}=`],
  ["line ends", `${signCompactJws(PAYLOAD, KEY)}\n`],
  ["the other alphabet", `${encode({})}.${encode({})}.+/+/`],
  ["bits behind the end", `${encode({})}.${encode({})}.AB`],
  ["a header that is no object", `${encode([])}.${encode({})}.AA`],
  ["a payload that is no object", `${encode({})}.${encode("7")}.AA`],
  ["a payload that is no JSON", `${encode({})}.${encode("{")}.AA`],
  ["a key id that is no text", `${encode({ kid: 7 })}.${encode({})}.AA`],
  ["a member twice", `${encode('{"alg":"a","alg":"b"}')}.${encode({})}.AA`],
  ["a member of a member twice", `${encode({})}.${encode('{"a":{"b:\\"":1,"b:\\"":2}}')}.AA`],
  ["deep nesting", `${encode({})}.${encode(`{"a":${"[".repeat(40)}${"]".repeat(40)}}`)}.AA`],
  ["bytes that are no text", `${encode({})}.${Buffer.from('{"a":"\xff"}', "latin1").toString("base64url")}.AA`],
  ["too much", `${encode({})}.${encode({ a: "x".repeat(TOKEN_CHARACTERS_MAX) })}.AA`],
])("%s is no token", (_, token) => {
  expect(parseCompactJws(token)).toBeUndefined();
});
