/**
 * Which CA a client's certificate leads to. TLS has checked the chain against all CAs the server asks for; but a
 * certificate of one CA names a user and one of another a front proxy, so each bundle is asked again on its own.
 * Revocation and name constraints are left to TLS. Some releases of Node show a server nothing but the leaf
 * (nodejs/node#65579), as a resumed session does: an intermediate CA is then trusted only if it stands in the bundle.
 */
import { X509Certificate } from "node:crypto";
import { readPathLengthMax } from "./certificate-reader.ts";

export type CertificateChain = readonly X509Certificate[];

/** Does the chain, leaf first, lead to the bundle at this moment (milliseconds since the epoch)? */
export type CertificateVerifier = (chain: CertificateChain, now: number) => boolean;

/** Certificates from leaf to root. */
const PATH_LENGTH_MAX = 8;
/** Of those a client presents, the first so many are looked at. */
const PRESENTED_MAX = 16;
/** Bounds what a chain made of certificates with equal names can cost. */
const SIGNATURE_CHECKS_MAX = 64;

const CLIENT_AUTH = "1.3.6.1.5.5.7.3.2";
const ANY_USAGE = "2.5.29.37.0";

interface Candidate {
  readonly certificate: X509Certificate;
  readonly fingerprint: string;
  readonly from: number;
  readonly until: number;
  readonly allowsClients: boolean;
  /** How many intermediates may stand below. */
  readonly pathLengthMax: number;
}

interface Window {
  readonly from: number;
  readonly until: number;
}

interface Search {
  readonly roots: readonly Candidate[];
  readonly intermediates: readonly Candidate[];
  readonly found: Window[];
  checksLeft: number;
}

/** Throws an Error with one clear sentence for a bundle that cannot be used. */
export function createCertificateVerifier(caPem: string): CertificateVerifier {
  const roots = parseCertificates(caPem).map(toCandidate);
  const windowsOf = rememberByChain((chain) => findWindows(chain, roots));
  return (chain, now) => chain.length > 0 && windowsOf(chain).some(({ from, until }) => from <= now && now <= until);
}

/** A connection keeps its chain: what follows from the chain alone is worked out once per connection. */
export function rememberByChain<T>(compute: (chain: CertificateChain) => T): (chain: CertificateChain) => T {
  const known = new WeakMap<CertificateChain, { readonly value: T }>();
  return (chain) => {
    let entry = known.get(chain);
    if (entry === undefined) {
      entry = { value: compute(chain) };
      known.set(chain, entry);
    }
    return entry.value;
  };
}

/** The certificates of a PEM bundle; other blocks and text between the blocks are skipped. */
export function parseCertificates(pem: string): X509Certificate[] {
  const [, ...blocks] = pem.split("-----BEGIN CERTIFICATE-----");
  if (blocks.length === 0) throw new Error("the CA bundle contains no certificate");
  return blocks.map((block, index) => {
    const end = block.indexOf("-----END CERTIFICATE-----");
    try {
      return new X509Certificate(Buffer.from(block.slice(0, Math.max(end, 0)), "base64"));
    } catch (cause) {
      throw new Error(`certificate ${index + 1} of the CA bundle cannot be read`, { cause });
    }
  });
}

/** When the chain leads to a root: one span of time for each way that it does, all dates of the way considered. */
function findWindows(chain: CertificateChain, roots: readonly Candidate[]): readonly Window[] {
  const [leaf, ...intermediates] = chain.slice(0, PRESENTED_MAX).map(toCandidate);
  const search: Search = { roots, intermediates, found: [], checksLeft: SIGNATURE_CHECKS_MAX };
  if (leaf !== undefined) followPath([leaf], search);
  return search.found;
}

function followPath(path: readonly Candidate[], search: Search): void {
  const last = path.at(-1)!;
  if (!last.allowsClients) return;
  // As Go: a certificate that stands in the bundle itself is trusted, whoever issued it.
  if (search.roots.some((root) => root.fingerprint === last.fingerprint)) {
    search.found.push({
      from: Math.max(...path.map(({ from }) => from)),
      until: Math.min(...path.map(({ until }) => until)),
    });
    return;
  }
  if (path.length === PATH_LENGTH_MAX) return;
  // As Go: all count, also those that a CA issued for itself.
  const below = path.length - 1;
  for (const issuer of [...search.roots, ...search.intermediates]) {
    if (below > issuer.pathLengthMax || path.some((one) => one.fingerprint === issuer.fingerprint)) continue;
    if (isIssuedBy(last.certificate, issuer.certificate, search)) followPath([...path, issuer], search);
  }
}

function isIssuedBy(certificate: X509Certificate, issuer: X509Certificate, search: Search): boolean {
  if (!issuer.ca || !certificate.checkIssued(issuer) || search.checksLeft === 0) return false;
  search.checksLeft--;
  try {
    return certificate.verify(issuer.publicKey);
  } catch {
    // A key or an algorithm that this build of OpenSSL does not know proves nothing.
    return false;
  }
}

function toCandidate(certificate: X509Certificate): Candidate {
  // Node calls the extended key usage this; undefined when the certificate does not restrict it.
  const usages = certificate.keyUsage as readonly string[] | undefined;
  return {
    certificate,
    fingerprint: certificate.fingerprint256,
    from: certificate.validFromDate.getTime(),
    until: certificate.validToDate.getTime(),
    allowsClients: usages === undefined || usages.includes(CLIENT_AUTH) || usages.includes(ANY_USAGE),
    pathLengthMax: readPathLengthMax(certificate.raw),
  };
}
