/** Certificates for tests with any subject, dates, usages and issuer, including invalid ones. */
import { createHash, generateKeyPairSync, sign, X509Certificate, type KeyObject } from "node:crypto";
import {
  bitString,
  boolean,
  explicit,
  derInteger,
  objectIdentifier,
  octetString,
  sequence,
  set,
  time,
  utf8String,
} from "../../../../src/serving/http/node/der.ts";

export const NOW = Date.UTC(2030, 0, 1);
const DAY_MS = 86_400_000;
const OID = {
  CN: "2.5.4.3",
  O: "2.5.4.10",
  OU: "2.5.4.11",
  ecdsaWithSha256: "1.2.840.10045.4.3.2",
  basicConstraints: "2.5.29.19",
  extendedKeyUsage: "2.5.29.37",
  serverAuth: "1.3.6.1.5.5.7.3.1",
  clientAuth: "1.3.6.1.5.5.7.3.2",
} as const;

/** The value is text, encoded as UTF8String, or a DER element. */
export type Attribute = readonly [type: "CN" | "O" | "OU", value: string | Buffer];

export interface Issued {
  readonly certificate: X509Certificate;
  readonly pem: string;
  readonly privateKey: KeyObject;
  readonly publicKey: KeyObject;
  readonly subject: Buffer;
}

export interface CertificateOptions {
  /** Attributes of the subject; a nested list is one multi-valued RDN. */
  readonly subject: readonly (Attribute | readonly Attribute[])[];
  /** Absent for a self-signed certificate. */
  readonly issuer?: Pick<Issued, "privateKey" | "subject">;
  readonly usages?: readonly ("serverAuth" | "clientAuth")[];
  readonly notBefore?: number;
  readonly notAfter?: number;
  readonly ca?: { readonly pathLength?: number };
  readonly keys?: Pick<Issued, "privateKey" | "publicKey">;
  /** The version of X.509. Default: 3. A certificate of version 1 has no extensions. */
  readonly version?: 1 | 3;
}

export function issue(options: CertificateOptions): Issued {
  const { privateKey, publicKey } = options.keys ?? newKeys();
  const certificate = new X509Certificate(certificateDer({ ...options, keys: { privateKey, publicKey } }));
  const subject = subjectDer(options.subject);
  return { certificate, pem: certificate.toString(), privateKey, publicKey, subject };
}

/** The certificate in DER. It may be one that OpenSSL rejects. */
export function certificateDer(options: CertificateOptions): Buffer {
  const keys = options.keys ?? newKeys();
  const subject = subjectDer(options.subject);
  const issuer = options.issuer ?? { ...keys, subject };
  const algorithm = sequence(objectIdentifier(OID.ecdsaWithSha256));
  const publicKey = keys.publicKey.export({ type: "spki", format: "der" });
  const content = sequence(
    ...(options.version === 1 ? [] : [explicit(0, derInteger(Buffer.of(2)))]),
    derInteger(createHash("sha256").update(publicKey).digest().subarray(0, 8)),
    algorithm,
    issuer.subject,
    sequence(time(options.notBefore ?? NOW - DAY_MS), time(options.notAfter ?? NOW + DAY_MS)),
    subject,
    publicKey,
    ...extensions(options),
  );
  return sequence(content, algorithm, bitString(sign("sha256", content, issuer.privateKey)));
}

export function issueCa(name: string, options: Partial<CertificateOptions> = {}): Issued {
  return issue({ subject: [["CN", name]], ca: {}, ...options });
}

/** Issues a client certificate signed by this CA. */
export function issueClient(issuer: Issued, options: Partial<CertificateOptions> = {}): Issued {
  return issue({ subject: [["CN", "jane"]], usages: ["clientAuth"], issuer, ...options });
}

function newKeys(): Pick<Issued, "privateKey" | "publicKey"> {
  return generateKeyPairSync("ec", { namedCurve: "P-256" });
}

function subjectDer(subject: CertificateOptions["subject"]): Buffer {
  return sequence(...subject.map((rdn) => set(...attributesOf(rdn).map(attribute))));
}

function attributesOf(rdn: Attribute | readonly Attribute[]): readonly Attribute[] {
  return typeof rdn[0] === "string" ? [rdn as Attribute] : (rdn as readonly Attribute[]);
}

function attribute([type, value]: Attribute): Buffer {
  return sequence(objectIdentifier(OID[type]), typeof value === "string" ? utf8String(value) : value);
}

function extensions({ usages, ca }: CertificateOptions): Buffer[] {
  const list: Buffer[] = [];
  if (ca !== undefined) {
    const limit = ca.pathLength === undefined ? [] : [derInteger(Buffer.of(ca.pathLength))];
    list.push(extension(OID.basicConstraints, sequence(boolean(true), ...limit)));
  }
  if (usages !== undefined)
    list.push(extension(OID.extendedKeyUsage, sequence(...usages.map((usage) => objectIdentifier(OID[usage])))));
  return list.length === 0 ? [] : [explicit(3, sequence(...list))];
}

function extension(identifier: string, value: Buffer): Buffer {
  return sequence(objectIdentifier(identifier), boolean(true), octetString(value));
}
