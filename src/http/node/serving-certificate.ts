/**
 * The certificate of a server that was given none. As kubernetes client-go/util/cert#GenerateSelfSignedCertKey:
 * a certificate authority of its own signs the leaf, because Go clients accept as a trust anchor only a CA.
 */
import { createHash, generateKeyPairSync, randomBytes, sign, type KeyObject } from "node:crypto";
import { isIP, isIPv4 } from "node:net";

import {
  bitString,
  boolean,
  explicit,
  implicit,
  integer,
  objectIdentifier,
  octetString,
  sequence,
  set,
  time,
  utf8String,
} from "./der.ts";

export interface ServingCertificateOptions {
  /** DNS names and IP addresses under which clients reach the server. */
  readonly hosts: readonly string[];
  readonly commonName: string;
  readonly nowMs: number;
  /** What the leaf is good for; a server unless told otherwise. */
  readonly usage?: "serverAuth" | "clientAuth";
}

export interface ServingCertificate {
  /** The leaf, then the CA: what the server presents. */
  readonly certPem: string;
  readonly keyPem: string;
  /** What clients trust (`certificate-authority-data`). The CA's key is not kept. */
  readonly caPem: string;
}

const HOUR_MS = 3_600_000;
const VALIDITY_MS = 365 * 24 * HOUR_MS;
const OID = {
  commonName: "2.5.4.3",
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

interface Identity {
  readonly commonName: string;
  readonly privateKey: KeyObject;
  readonly publicKey: KeyObject;
}

export function createServingCertificate(options: ServingCertificateOptions): ServingCertificate {
  const ca = createIdentity(`${options.commonName}-ca`);
  const leaf = createIdentity(options.commonName);
  const isCa = sequence(boolean(true), integer(Buffer.of(0)));
  const caDer = certificate({ subject: ca, issuer: ca, nowMs: options.nowMs }, [
    extension(OID.basicConstraints, isCa, "critical"),
    // digitalSignature (bit 0) and keyCertSign (bit 5)
    extension(OID.keyUsage, bitString(Buffer.of(0b1000_0100), 2), "critical"),
    extension(OID.subjectKeyIdentifier, octetString(keyIdentifier(ca.publicKey))),
  ]);
  const leafDer = certificate({ subject: leaf, issuer: ca, nowMs: options.nowMs }, [
    extension(OID.basicConstraints, sequence(), "critical"),
    extension(OID.keyUsage, bitString(Buffer.of(0b1000_0000), 7), "critical"),
    extension(OID.extendedKeyUsage, sequence(objectIdentifier(OID[options.usage ?? "serverAuth"]))),
    ...(options.hosts.length === 0
      ? []
      : [extension(OID.subjectAltName, sequence(...options.hosts.map(alternativeName)))]),
    extension(OID.authorityKeyIdentifier, sequence(implicit(0, keyIdentifier(ca.publicKey)))),
  ]);
  const caPem = pem(caDer);
  return {
    certPem: pem(leafDer) + caPem,
    keyPem: leaf.privateKey.export({ type: "pkcs8", format: "pem" }).toString(),
    caPem,
  };
}

function createIdentity(commonName: string): Identity {
  return { commonName, ...generateKeyPairSync("ec", { namedCurve: "P-256" }) };
}

function certificate(
  parties: { subject: Identity; issuer: Identity; nowMs: number },
  extensions: readonly Buffer[],
): Buffer {
  const { subject, issuer, nowMs } = parties;
  const algorithm = sequence(objectIdentifier(OID.ecdsaWithSha256));
  const content = sequence(
    explicit(0, integer(Buffer.of(2))),
    integer(randomBytes(16)),
    algorithm,
    distinguishedName(issuer.commonName),
    // Clients whose clocks are a little behind must not find it not yet valid.
    sequence(time(nowMs - HOUR_MS), time(nowMs + VALIDITY_MS)),
    distinguishedName(subject.commonName),
    subject.publicKey.export({ type: "spki", format: "der" }),
    explicit(3, sequence(...extensions)),
  );
  return sequence(content, algorithm, bitString(sign("sha256", content, issuer.privateKey)));
}

function distinguishedName(commonName: string): Buffer {
  return sequence(set(sequence(objectIdentifier(OID.commonName), utf8String(commonName))));
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

/** Context tags of GeneralName: 2 is a DNS name, 7 an address. */
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

function pem(der: Buffer): string {
  const lines = der.toString("base64").match(/.{1,64}/g) ?? [];
  return `-----BEGIN CERTIFICATE-----\n${lines.join("\n")}\n-----END CERTIFICATE-----\n`;
}
