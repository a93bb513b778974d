/** Parses, verifies and signs JSON Web Signatures in compact form. Parsing is strict. */
import { constants, sign, verify, type KeyObject } from "node:crypto";
import type { JsonObject } from "../../../meta/json.ts";
import type { SigningKey, VerifyingKey } from "./keys.ts";
import { parseTokenJson } from "./token-json.ts";

/**
 * Maximum length of a token; a service account token has about a thousand characters. DIFFERS: kubernetes accepts
 * tokens of any length.
 */
export const TOKEN_CHARACTERS_MAX = 64 * 1024;

export interface CompactJws {
  readonly header: JsonObject;
  readonly payload: JsonObject;
  /** The key id in the header; "" if absent. */
  readonly keyId: string;
  readonly signed: string;
  readonly signature: Buffer;
}

interface Verification {
  readonly keyType: "rsa" | "ec";
  readonly hash: string;
  readonly padding?: number;
  /** The curve that the algorithm requires. */
  readonly curve?: string;
}

const PKCS1 = constants.RSA_PKCS1_PADDING;
const PSS = constants.RSA_PKCS1_PSS_PADDING;

/** As kubernetes: all algorithms that a key can verify, although the server signs with only one of them. */
const VERIFICATIONS: ReadonlyMap<unknown, Verification> = new Map([
  ["RS256", { keyType: "rsa", hash: "sha256", padding: PKCS1 }],
  ["RS384", { keyType: "rsa", hash: "sha384", padding: PKCS1 }],
  ["RS512", { keyType: "rsa", hash: "sha512", padding: PKCS1 }],
  ["PS256", { keyType: "rsa", hash: "sha256", padding: PSS }],
  ["PS384", { keyType: "rsa", hash: "sha384", padding: PSS }],
  ["PS512", { keyType: "rsa", hash: "sha512", padding: PSS }],
  ["ES256", { keyType: "ec", hash: "sha256", curve: "prime256v1" }],
  ["ES384", { keyType: "ec", hash: "sha384", curve: "secp384r1" }],
  ["ES512", { keyType: "ec", hash: "sha512", curve: "secp521r1" }],
]);

/** Undefined if the token is malformed. Does not verify the signature. */
export function parseCompactJws(token: string): CompactJws | undefined {
  if (token.length > TOKEN_CHARACTERS_MAX) return undefined;
  const parts = token.split(".", 4);
  if (parts.length !== 3) return undefined;
  const [header, payload, signature] = parts.map(decodeBase64Url);
  if (header === undefined || payload === undefined || signature === undefined) return undefined;
  const headerJson = parseTokenJson(header);
  const payloadJson = headerJson && parseTokenJson(payload);
  if (headerJson === undefined || payloadJson === undefined) return undefined;
  const keyId = headerJson["kid"] ?? "";
  if (typeof keyId !== "string") return undefined;
  const signed = token.slice(0, token.lastIndexOf("."));
  return { header: headerJson, payload: payloadJson, keyId, signed, signature };
}

/**
 * Decodes strictly. DIFFERS: kubernetes ignores line breaks and the unused bits of the last character, so that a token
 * can be written in several ways.
 */
function decodeBase64Url(text: string): Buffer | undefined {
  const bytes = Buffer.from(text, "base64url");
  return bytes.toString("base64url") === text ? bytes : undefined;
}

export function isSignedBy({ header, signed, signature }: CompactJws, { publicKey }: VerifyingKey): boolean {
  // Critical headers are not supported, and the payload of a token is always encoded.
  if (Object.hasOwn(header, "crit") || Object.hasOwn(header, "b64")) return false;
  const how = VERIFICATIONS.get(header["alg"]);
  if (how === undefined || !fits(publicKey, how)) return false;
  const input = Buffer.from(signed, "latin1");
  try {
    return how.padding === undefined
      ? verify(how.hash, input, { key: publicKey, dsaEncoding: "ieee-p1363" }, signature)
      : verify(how.hash, input, { key: publicKey, padding: how.padding }, signature);
  } catch {
    return false;
  }
}

function fits({ asymmetricKeyType, asymmetricKeyDetails }: KeyObject, { keyType, curve }: Verification): boolean {
  return asymmetricKeyType === keyType && (curve === undefined || asymmetricKeyDetails?.namedCurve === curve);
}

export function signCompactJws(payload: JsonObject, { algorithm, keyId, privateKey }: SigningKey): string {
  const header = encodeBase64Url(JSON.stringify({ alg: algorithm, kid: keyId }));
  const signed = `${header}.${encodeBase64Url(JSON.stringify(payload))}`;
  const hash = `sha${algorithm.slice(2)}`;
  const signature = sign(hash, Buffer.from(signed, "latin1"), { key: privateKey, dsaEncoding: "ieee-p1363" });
  return `${signed}.${signature.toString("base64url")}`;
}

function encodeBase64Url(text: string): string {
  return Buffer.from(text, "utf8").toString("base64url");
}
