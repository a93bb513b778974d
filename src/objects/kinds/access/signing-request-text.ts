/** Validates spec.request of a signing request: a PEM block with a PKCS#10 request that is signed by its own key. */
import { createPublicKey, verify, type KeyObject } from "node:crypto";
import { DER_TAG, firstElements, readElement, type DerElement } from "../../../base/der-reader.ts";
import { pemBlocks } from "../../../base/pem.ts";

const BLOCK_TYPE = "CERTIFICATE REQUEST";
const GO_SEQUENCE = 16;
const GO_NO_PARAMETERS =
  "{optional:false explicit:false application:false private:false defaultValue:<nil> tag:<nil> stringType:0 timeType:0 set:false omitEmpty:false}";

interface Algorithm {
  /** The key type as Node names it and as Go names it. */
  readonly keyType: string;
  readonly name: string;
  readonly hash: string | null;
  readonly failure: string;
}

const rsa = (hash: string): Algorithm => ({
  keyType: "rsa",
  name: "RSA",
  hash,
  failure: "crypto/rsa: verification error",
});
const ecdsa = (hash: string): Algorithm => ({
  keyType: "ec",
  name: "ECDSA",
  hash,
  failure: "x509: ECDSA verification failure",
});

/** Signature algorithms, keyed by the hexadecimal content of their object identifiers. */
const ALGORITHMS: ReadonlyMap<string, Algorithm> = new Map([
  ["2a864886f70d010105", rsa("sha1")],
  ["2a864886f70d01010b", rsa("sha256")],
  ["2a864886f70d01010c", rsa("sha384")],
  ["2a864886f70d01010d", rsa("sha512")],
  ["2a8648ce3d0401", ecdsa("sha1")],
  ["2a8648ce3d040302", ecdsa("sha256")],
  ["2a8648ce3d040303", ecdsa("sha384")],
  ["2a8648ce3d040304", ecdsa("sha512")],
  ["2b6570", { keyType: "ed25519", name: "Ed25519", hash: null, failure: "x509: Ed25519 verification failure" }],
]);

const GO_KEY_TYPES: ReadonlyMap<string, string> = new Map([
  ["rsa", "*rsa.PublicKey"],
  ["ec", "*ecdsa.PublicKey"],
  ["ed25519", "ed25519.PublicKey"],
]);

/** Kubernetes' message for the first problem; undefined if the request is valid. */
export function requestProblem(base64: string): string | undefined {
  const [block] = pemBlocks(Buffer.from(base64, "base64").toString("latin1"));
  if (block === undefined || block.type !== BLOCK_TYPE) return `PEM block type must be ${BLOCK_TYPE}`;
  return outerProblem(block.bytes) ?? signatureProblem(block.bytes);
}

/** DIFFERS: inside the outermost sequence, only the signature is checked. */
function outerProblem(bytes: Buffer): string | undefined {
  if (bytes.length === 0) return "asn1: syntax error: sequence truncated";
  if (bytes.length === 1) return "asn1: syntax error: truncated tag or length";
  const outer = readElement(bytes);
  if (outer === undefined) return undefined;
  const { tag, content, whole } = outer;
  if (tag !== DER_TAG.sequence) {
    const found = `{class:${tag >> 6} tag:${tag & 0x1f} length:${content.length} isCompound:${(tag & 0x20) !== 0}}`;
    const headerBytes = whole.length - content.length;
    return `asn1: structure error: tags don't match (${GO_SEQUENCE} vs ${found}) ${GO_NO_PARAMETERS} certificateRequest @${headerBytes}`;
  }
  return whole.length < bytes.length ? "asn1: syntax error: trailing data" : undefined;
}

function signatureProblem(bytes: Buffer): string | undefined {
  const parts = firstElements(readElement(bytes)?.content ?? Buffer.alloc(0), 3) ?? [];
  const [signed, algorithmPart, signaturePart] = parts;
  if (signed === undefined || algorithmPart === undefined || signaturePart === undefined) return undefined;
  const algorithm = algorithmOf(algorithmPart);
  const key = publicKeyOf(signed);
  if (algorithm === undefined || key === undefined) return undefined;
  const keyType = GO_KEY_TYPES.get(key.asymmetricKeyType ?? "");
  if (key.asymmetricKeyType !== algorithm.keyType)
    return keyType === undefined
      ? undefined
      : `x509: signature algorithm specifies an ${algorithm.name} public key, but have public key of type ${keyType}`;
  // The first byte of a bit string is the number of unused bits in its last byte.
  const signature = signaturePart.content.subarray(1);
  return isSigned(signed.whole, { algorithm, key, signature }) ? undefined : algorithm.failure;
}

function algorithmOf(part: DerElement): Algorithm | undefined {
  const identifier = readElement(part.content);
  return identifier === undefined ? undefined : ALGORITHMS.get(identifier.content.toString("hex"));
}

/** The third element of the signed part, after the version and the subject. */
function publicKeyOf(signed: DerElement): KeyObject | undefined {
  const key = firstElements(signed.content, 3)?.[2];
  if (key === undefined) return undefined;
  try {
    return createPublicKey({ key: key.whole, format: "der", type: "spki" });
  } catch {
    // An unreadable key is not reported: Kubernetes' message for it depends on the key.
    return undefined;
  }
}

function isSigned(
  data: Buffer,
  { algorithm, key, signature }: { algorithm: Algorithm; key: KeyObject; signature: Buffer },
): boolean {
  try {
    return verify(algorithm.hash, data, key, signature);
  } catch {
    // A malformed signature.
    return false;
  }
}
