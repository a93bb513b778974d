/**
 * Creates a certificate authority and the serving and client certificates that it signs. All keys are EC keys on P-256.
 */
import {
  createHash,
  createPrivateKey,
  createPublicKey,
  generateKeyPairSync,
  randomBytes,
  sign,
  X509Certificate,
  type KeyObject,
} from "node:crypto";
import { isIP, isIPv4 } from "node:net";
import {
  bitString,
  boolean,
  explicit,
  implicit,
  derInteger,
  objectIdentifier,
  octetString,
  sequence,
  set,
  time,
  utf8String,
} from "./der.ts";

/** A certificate and its private key as PEM texts. */
export interface KeyedCertificate {
  readonly certPem: string;
  readonly keyPem: string;
}

export interface IssueOptions {
  readonly ca: KeyedCertificate;
  readonly commonName: string;
  /** The groups of a client, which become organizations in the subject. */
  readonly organizations?: readonly string[];
  /** The DNS names and IP addresses of a server. */
  readonly hosts?: readonly string[];
  readonly usage: "serverAuth" | "clientAuth";
  readonly nowMs: number;
}

const HOUR_MS = 3_600_000;
const YEAR_MS = 365 * 24 * HOUR_MS;
const AUTHORITY_YEARS = 10;
const OID = {
  commonName: "2.5.4.3",
  organization: "2.5.4.10",
  ecdsaWithSha256: "1.2.840.10045.4.3.2",
  subjectKeyIdentifier: "2.5.29.14",
  keyUsage: "2.5.29.15",
  subjectAltName: "2.5.29.17",
  basicConstraints: "2.5.29.19",
  authorityKeyIdentifier: "2.5.29.35",
  extendedKeyUsage: "2.5.29.37",
  serverAuth: "1.3.6.1.5.5.7.3.1",
  clientAuth: "1.3.6.1.5.5.7.3.2",
} as const;

export function createAuthority({
  commonName,
  nowMs,
}: {
  readonly commonName: string;
  readonly nowMs: number;
}): KeyedCertificate {
  const { privateKey, publicKey } = generateKeyPairSync("ec", { namedCurve: "P-256" });
  const name = distinguishedName(commonName, []);
  const der = certificate(
    { subject: name, publicKey, issuer: name, issuerKey: privateKey, nowMs, validityMs: AUTHORITY_YEARS * YEAR_MS },
    [
      extension(OID.basicConstraints, sequence(boolean(true), derInteger(Buffer.of(0))), "critical"),
      // The key usage has two bits: digitalSignature (bit 0) and keyCertSign (bit 5).
      extension(OID.keyUsage, bitString(Buffer.of(0b1000_0100), 2), "critical"),
      extension(OID.subjectKeyIdentifier, octetString(keyIdentifier(publicKey))),
    ],
  );
  return { certPem: pem(der), keyPem: keyPem(privateKey) };
}

/** Issues a certificate. The PEM contains the leaf alone, without the CA certificate. */
export function issueCertificate(options: IssueOptions): KeyedCertificate {
  const { ca, commonName, organizations = [], hosts = [], usage, nowMs } = options;
  const { privateKey, publicKey } = generateKeyPairSync("ec", { namedCurve: "P-256" });
  const der = certificate(
    {
      subject: distinguishedName(commonName, organizations),
      publicKey,
      issuer: distinguishedName(commonNameOf(ca.certPem), []),
      issuerKey: createPrivateKey(ca.keyPem),
      nowMs,
      validityMs: YEAR_MS,
    },
    [
      extension(OID.basicConstraints, sequence(), "critical"),
      extension(OID.keyUsage, bitString(Buffer.of(0b1000_0000), 7), "critical"),
      extension(OID.extendedKeyUsage, sequence(objectIdentifier(OID[usage]))),
      ...(hosts.length === 0 ? [] : [extension(OID.subjectAltName, sequence(...hosts.map(alternativeName)))]),
      extension(OID.authorityKeyIdentifier, sequence(implicit(0, keyIdentifier(createPublicKey(ca.certPem))))),
    ],
  );
  return { certPem: pem(der), keyPem: keyPem(privateKey) };
}

interface Parties {
  readonly subject: Buffer;
  readonly publicKey: KeyObject;
  readonly issuer: Buffer;
  readonly issuerKey: KeyObject;
  readonly nowMs: number;
  readonly validityMs: number;
}

function certificate(parties: Parties, extensions: readonly Buffer[]): Buffer {
  const { subject, publicKey, issuer, issuerKey, nowMs, validityMs } = parties;
  const algorithm = sequence(objectIdentifier(OID.ecdsaWithSha256));
  const content = sequence(
    explicit(0, derInteger(Buffer.of(2))),
    derInteger(randomBytes(16)),
    algorithm,
    issuer,
    // The validity begins in the past, so that clients whose clocks are slightly behind accept the certificate.
    sequence(time(nowMs - HOUR_MS), time(nowMs + validityMs)),
    subject,
    publicKey.export({ type: "spki", format: "der" }),
    explicit(3, sequence(...extensions)),
  );
  return sequence(content, algorithm, bitString(sign("sha256", content, issuerKey)));
}

/**
 * The subject of a CA created here is only a common name. This function does not use `toLegacyObject`: if that is the
 * first call that needs Node's TLS code, it leaves `tls.createSecureContext` undefined for the rest of the process.
 */
function commonNameOf(certPem: string): string {
  return new X509Certificate(certPem).subject.replace(/^CN=/, "");
}

function distinguishedName(commonName: string, organizations: readonly string[]): Buffer {
  const part = (identifier: string, text: string): Buffer =>
    set(sequence(objectIdentifier(identifier), utf8String(text)));
  return sequence(...organizations.map((name) => part(OID.organization, name)), part(OID.commonName, commonName));
}

function extension(identifier: string, value: Buffer, importance: "critical" | "ordinary" = "ordinary"): Buffer {
  return sequence(
    objectIdentifier(identifier),
    ...(importance === "critical" ? [boolean(true)] : []),
    octetString(value),
  );
}

function keyIdentifier(key: KeyObject): Buffer {
  return createHash("sha256")
    .update(key.export({ type: "spki", format: "der" }))
    .digest()
    .subarray(0, 20);
}

/** The context tags of GeneralName are 2 for a DNS name and 7 for an IP address. */
function alternativeName(host: string): Buffer {
  return isIP(host) === 0 ? implicit(2, Buffer.from(host, "latin1")) : implicit(7, addressBytes(host));
}

function addressBytes(address: string): Buffer {
  if (isIPv4(address)) return Buffer.from(address.split(".").map(Number));
  const [head = "", tail = ""] = address.split("::");
  const groups = (text: string): number[] =>
    text === "" ? [] : text.split(":").map((group) => Number.parseInt(group, 16));
  const left = groups(head);
  const right = groups(tail);
  const words = [...left, ...Array.from({ length: 8 - left.length - right.length }, () => 0), ...right];
  return Buffer.from(words.flatMap((word) => [word >> 8, word & 0xff]));
}

function keyPem(key: KeyObject): string {
  return key.export({ type: "pkcs8", format: "pem" }).toString();
}

function pem(der: Buffer): string {
  const lines = der.toString("base64").match(/.{1,64}/g) ?? [];
  return `-----BEGIN CERTIFICATE-----\n${lines.join("\n")}\n-----END CERTIFICATE-----\n`;
}
