/** Parses the keys of service account tokens from PEM, and selects the algorithm of each key. */
import { createPrivateKey, createPublicKey, hash, type KeyObject } from "node:crypto";
import { pemBlocks } from "../../../base/pem.ts";

type SignatureAlgorithm = "RS256" | "ES256" | "ES384" | "ES512";

export interface VerifyingKey {
  /** As kubernetes: a hash of the public key. */
  readonly keyId: string;
  readonly publicKey: KeyObject;
  /** The algorithm with which the private key signs tokens. */
  readonly algorithm: SignatureAlgorithm;
}

export interface SigningKey extends VerifyingKey {
  readonly privateKey: KeyObject;
}

/** Keyed by Node's name of the curve. */
const CURVE_ALGORITHMS: ReadonlyMap<string, SignatureAlgorithm> = new Map([
  ["prime256v1", "ES256"],
  ["secp384r1", "ES384"],
  ["secp521r1", "ES512"],
]);

/** As Go: shorter RSA keys are not accepted. */
const RSA_BITS_MIN = 1024;

/** All public keys of a file, including those of its private keys. Throws an Error if there is none. */
export function parsePublicKeys(pem: string): VerifyingKey[] {
  const keys = [...pemBlocks(pem)].flatMap(({ text }) => verifyingKey(() => createPublicKey(text)) ?? []);
  if (keys.length === 0) throw new Error("data does not contain any valid RSA or ECDSA public keys");
  return keys;
}

/** The first private key of a file. Throws an Error if there is none. */
export function parseSigningKey(pem: string): SigningKey {
  for (const { text } of pemBlocks(pem)) {
    // Blocks that are not keys, such as EC PARAMETERS, are skipped, as in Kubernetes.
    const privateKey = attempt(() => createPrivateKey(text));
    const verifying = privateKey && verifyingKey(() => createPublicKey(privateKey));
    if (privateKey !== undefined && verifying !== undefined) return { ...verifying, privateKey };
  }
  throw new Error("data does not contain a valid RSA or ECDSA private key");
}

function verifyingKey(make: () => KeyObject): VerifyingKey | undefined {
  const publicKey = attempt(make);
  const algorithm = publicKey && algorithmOf(publicKey);
  return publicKey && algorithm && { keyId: keyIdOf(publicKey), publicKey, algorithm };
}

function algorithmOf({ asymmetricKeyType, asymmetricKeyDetails }: KeyObject): SignatureAlgorithm | undefined {
  if (asymmetricKeyType === "rsa")
    return (asymmetricKeyDetails?.modulusLength ?? 0) >= RSA_BITS_MIN ? "RS256" : undefined;
  return asymmetricKeyType === "ec" ? CURVE_ALGORITHMS.get(asymmetricKeyDetails?.namedCurve ?? "") : undefined;
}

function keyIdOf(publicKey: KeyObject): string {
  return hash("sha256", publicKey.export({ type: "spki", format: "der" }), "base64url");
}

function attempt(make: () => KeyObject): KeyObject | undefined {
  try {
    return make();
  } catch {
    return undefined;
  }
}
