/**
 * Reads, from the DER of a certificate or certificate signing request, the fields that Node does not expose exactly.
 * `X509Certificate.subject` is not exact: it is display text in which a value with a line break looks like two
 * attributes.
 */
import { DER_TAG, partsOf, readElement, readElements, type DerElement } from "../../base/der-reader.ts";
import { pemBlocks } from "../../base/pem.ts";

interface CertificateSubject {
  /** The common name; empty if there is none, and the last one if there are several, as in Go. */
  readonly commonName: string;
  readonly organizations: readonly string[];
}

/** Object identifiers: the hexadecimal form of their DER encoding. */
const OID = { commonName: "550403", organization: "55040a", basicConstraints: "551d13" } as const;
const EXTENSIONS_TAG = 0xa3;
const VERSION_TAG = 0xa0;

/** Undefined if the name cannot be parsed; the certificate then identifies no user. */
export function readSubject(certificate: Buffer): CertificateSubject | undefined {
  return readName(readFields(certificate)?.[SUBJECT_INDEX]);
}

/**
 * The subject of a PKCS#10 certificate signing request, which is given as base64 of PEM; undefined if it cannot be
 * parsed.
 */
export function readRequestedSubject(base64: string): CertificateSubject | undefined {
  const [block] = pemBlocks(Buffer.from(base64, "base64").toString("latin1"));
  const outer = block === undefined ? undefined : readElement(block.bytes);
  const info = outer === undefined ? undefined : readElement(outer.content);
  return info === undefined ? undefined : readName(readElements(info.content)?.[REQUEST_SUBJECT_INDEX]);
}

function readName(element: DerElement | undefined): CertificateSubject | undefined {
  const names = partsOf(element, DER_TAG.sequence);
  if (names === undefined) return undefined;
  let commonName = "";
  const organizations: string[] = [];
  for (const name of names) {
    const attributes = partsOf(name, DER_TAG.set);
    if (attributes === undefined) return undefined;
    for (const attribute of attributes) {
      const [type, value, ...more] = partsOf(attribute, DER_TAG.sequence) ?? [];
      if (type?.tag !== DER_TAG.objectIdentifier || value === undefined || more.length > 0) return undefined;
      const identifier = type.content.toString("hex");
      if (identifier !== OID.commonName && identifier !== OID.organization) continue;
      const text = readText(value);
      if (text === undefined) return undefined;
      if (identifier === OID.commonName) commonName = text;
      else organizations.push(text);
    }
  }
  return { commonName, organizations };
}

/**
 * The number of intermediate certificates that may be between this CA and the leaf: Infinity if there is no limit, -1
 * if the extension cannot be parsed.
 */
export function readPathLengthMax(certificate: Buffer): number {
  const fields = readFields(certificate);
  if (fields === undefined) return -1;
  const wrapped = fields.find(({ tag }) => tag === EXTENSIONS_TAG);
  if (wrapped === undefined) return Infinity;
  const extensions = partsOf(readElements(wrapped.content)?.[0], DER_TAG.sequence);
  if (extensions === undefined) return -1;
  for (const extension of extensions) {
    const parts = partsOf(extension, DER_TAG.sequence) ?? [];
    if (parts[0]?.content.toString("hex") !== OID.basicConstraints) continue;
    const [value] = partsOf(parts.at(-1), DER_TAG.octetString) ?? [];
    const constraints = partsOf(value, DER_TAG.sequence);
    if (constraints === undefined) return -1;
    const limit = constraints.find(({ tag }) => tag === DER_TAG.integer);
    return limit === undefined ? Infinity : readSmallInteger(limit.content);
  }
  return Infinity;
}

/** Whether the certificate is of X.509 v1, which has no extensions. False if it cannot be parsed. */
export function isVersion1(certificate: Buffer): boolean {
  const fields = signedFields(certificate);
  return fields?.[0]?.tag === DER_TAG.integer && !fields.some(({ tag }) => tag === EXTENSIONS_TAG);
}

/** The index of the subject after serial number, signature algorithm, issuer and validity. */
const SUBJECT_INDEX = 4;
/** The index of the subject after the version of the request. */
const REQUEST_SUBJECT_INDEX = 1;

/** The fields of the signed part of a certificate, starting with the serial number. */
function readFields(certificate: Buffer): DerElement[] | undefined {
  const fields = signedFields(certificate);
  return fields?.[0]?.tag === VERSION_TAG ? fields.slice(1) : fields;
}

/** All fields of the signed part; the version is the first one, and absent in X.509 v1. */
function signedFields(certificate: Buffer): DerElement[] | undefined {
  const whole = partsOf(readElements(certificate)?.[0], DER_TAG.sequence);
  return partsOf(whole?.[0], DER_TAG.sequence);
}

function readSmallInteger(content: Buffer): number {
  const [first] = content;
  return content.length === 1 && first !== undefined && first < 0x80 ? first : -1;
}

/** Decodes the string types that may occur in a name, as Go does. */
function readText({ tag, content }: DerElement): string | undefined {
  switch (tag) {
    case 0x0c: {
      const text = content.toString("utf8");
      return Buffer.from(text, "utf8").equals(content) ? text : undefined;
    }
    case 0x12: // NumericString
    case 0x13: // PrintableString
    case 0x16: // IA5String
      return content.every((byte) => byte < 0x80) ? content.toString("latin1") : undefined;
    case 0x14: // TeletexString, in practice always ISO 8859-1
      return content.toString("latin1");
    case 0x1e: {
      if (content.length % 2 !== 0) return undefined;
      const text = Buffer.from(content).swap16().toString("utf16le");
      return text.isWellFormed() ? text : undefined;
    }
    default:
      return undefined;
  }
}
