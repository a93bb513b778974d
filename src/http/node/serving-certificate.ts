/**
 * The certificate of a server that was given none. As kubernetes client-go/util/cert#GenerateSelfSignedCertKey:
 * a certificate authority of its own signs the leaf, because Go clients accept as a trust anchor only a CA.
 */
import { isIP } from "node:net";

import type { JsonGeneralName, X509CertificateCreateCommonParams } from "@peculiar/x509";

export interface ServingCertificateOptions {
  /** DNS names and IP addresses under which clients reach the server. */
  readonly hosts: readonly string[];
  readonly commonName: string;
  readonly nowMs: number;
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
const KEY_ALGORITHM = { name: "ECDSA", namedCurve: "P-256", hash: "SHA-256" } as const;

export async function createServingCertificate(options: ServingCertificateOptions): Promise<ServingCertificate> {
  // Loaded only by a server that makes its certificate: the library takes a noticeable part of a start.
  await import("reflect-metadata");
  const x509 = await import("@peculiar/x509");
  const { subtle } = globalThis.crypto;
  const newKeys = () => subtle.generateKey(KEY_ALGORITHM, true, ["sign", "verify"]);
  const [caKeys, leafKeys] = await Promise.all([newKeys(), newKeys()]);
  const common: X509CertificateCreateCommonParams = {
    // Clients whose clocks are a little behind must not find it not yet valid.
    notBefore: new Date(options.nowMs - HOUR_MS),
    notAfter: new Date(options.nowMs + VALIDITY_MS),
    signingAlgorithm: KEY_ALGORITHM,
  };
  const ca = await x509.X509CertificateGenerator.createSelfSigned({
    ...common,
    name: [{ CN: [`${options.commonName}-ca`] }],
    keys: caKeys,
    extensions: [
      new x509.BasicConstraintsExtension(true, 0, true),
      new x509.KeyUsagesExtension(x509.KeyUsageFlags.keyCertSign | x509.KeyUsageFlags.digitalSignature, true),
      await x509.SubjectKeyIdentifierExtension.create(caKeys.publicKey),
    ],
  });
  const leaf = await x509.X509CertificateGenerator.create({
    ...common,
    subject: [{ CN: [options.commonName] }],
    issuer: ca.subjectName,
    publicKey: leafKeys.publicKey,
    signingKey: caKeys.privateKey,
    extensions: [
      new x509.BasicConstraintsExtension(false, undefined, true),
      new x509.KeyUsagesExtension(x509.KeyUsageFlags.digitalSignature, true),
      new x509.ExtendedKeyUsageExtension([x509.ExtendedKeyUsage.serverAuth]),
      new x509.SubjectAlternativeNameExtension(options.hosts.map(alternativeName)),
      await x509.AuthorityKeyIdentifierExtension.create(caKeys.publicKey),
    ],
  });
  const caPem = `${ca.toString("pem")}\n`;
  const key = await subtle.exportKey("pkcs8", leafKeys.privateKey);
  return { certPem: `${leaf.toString("pem")}\n${caPem}`, keyPem: `${x509.PemConverter.encode(key, "PRIVATE KEY")}\n`, caPem };
}

function alternativeName(host: string): JsonGeneralName {
  return { type: isIP(host) === 0 ? "dns" : "ip", value: host };
}
