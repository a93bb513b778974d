/**
 * Verifies that a client certificate chains to a given CA bundle. TLS has only checked it against all CAs that the
 * server accepts. But the CA of users and the CA of front proxies grant different rights, so each bundle is checked
 * separately. Revocation and name constraints are left to TLS. Some releases of Node expose only the leaf certificate
 * to a server (nodejs/node#65579), and so does a resumed TLS session; an intermediate CA is then trusted only if the
 * bundle contains it.
 */
import { X509Certificate } from "node:crypto";
import { timestampAt } from "../../meta/timestamp.ts";
import { isVersion1, readPathLengthMax } from "./certificate-reader.ts";

export type CertificateChain = readonly X509Certificate[];

/**
 * Returns why the chain (leaf first) is rejected; undefined if it leads to a certificate of the bundle and all
 * certificates on this path are valid at `now` (milliseconds since the epoch). The messages are those of Go.
 */
export type CertificateVerifier = (chain: CertificateChain, now: number) => string | undefined;

/** Maximum number of certificates from leaf to root. */
const PATH_LENGTH_MAX = 8;
/** Maximum number of presented certificates that are considered. */
const PRESENTED_MAX = 16;
/**
 * Maximum number of signature checks for one chain, because a chain of certificates with equal names has very many
 * paths.
 */
const SIGNATURE_CHECKS_MAX = 64;

const UNKNOWN_AUTHORITY = "x509: certificate signed by unknown authority";
const WRONG_USAGE = "x509: certificate specifies an incompatible key usage";

const CLIENT_AUTH = "1.3.6.1.5.5.7.3.2";
const ANY_USAGE = "2.5.29.37.0";

interface Candidate {
  readonly certificate: X509Certificate;
  readonly fingerprint: string;
  readonly from: number;
  readonly until: number;
  readonly allowsClients: boolean;
  /** Whether the certificate may sign others. */
  readonly isAuthority: boolean;
  /** The number of intermediate certificates that may be between this certificate and the leaf. */
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

/** Throws an Error with a one-sentence message if the bundle is invalid. */
export function createCertificateVerifier(caPem: string): CertificateVerifier {
  const roots = parseCertificates(caPem).map(toRoot);
  const windowsOf = rememberByChain((chain) => findWindows(chain, roots));
  return (chain, now) => {
    const windows = windowsOf(chain);
    if (typeof windows === "string") return windows;
    return windows.some(({ from, until }) => from <= now && now <= until) ? undefined : outOfDate(windows, now);
  };
}

function outOfDate(windows: readonly Window[], now: number): string {
  const problem = `x509: certificate has expired or is not yet valid: current time ${timestampAt(now)} is`;
  const until = Math.max(...windows.map((window) => window.until));
  if (now > until) return `${problem} after ${timestampAt(until)}`;
  const from = Math.min(...windows.map((window) => window.from).filter((one) => one > now));
  // Dates that cannot be parsed are not numbers.
  return Number.isFinite(from) ? `${problem} before ${timestampAt(from)}` : `${problem} not in its validity period`;
}

/**
 * Caches the result for each chain. All requests of a connection share one chain, so the result is computed once per
 * connection.
 */
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

/** The certificates of a PEM bundle; skips other blocks and text between the blocks. */
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

/**
 * The times at which the chain leads to a root: for each valid path, the intersection of the validity periods of its
 * certificates. If there is no valid path, the reason.
 */
function findWindows(chain: CertificateChain, roots: readonly Candidate[]): readonly Window[] | string {
  const [leaf, ...intermediates] = chain.slice(0, PRESENTED_MAX).map((one) => toCandidate(one, one.ca));
  const search: Search = { roots, intermediates, found: [], checksLeft: SIGNATURE_CHECKS_MAX };
  if (leaf !== undefined) searchPath([leaf], search);
  if (search.found.length > 0) return search.found;
  return leaf?.allowsClients === false ? WRONG_USAGE : UNKNOWN_AUTHORITY;
}

function searchPath(path: readonly Candidate[], search: Search): void {
  const last = path.at(-1)!;
  if (!last.allowsClients) return;
  // As Go: a certificate that the bundle contains is trusted regardless of its issuer.
  if (search.roots.some((root) => root.fingerprint === last.fingerprint)) {
    search.found.push({
      from: Math.max(...path.map(({ from }) => from)),
      until: Math.min(...path.map(({ until }) => until)),
    });
    return;
  }
  if (path.length === PATH_LENGTH_MAX) return;
  // As Go: self-issued certificates count toward the path length too.
  const below = path.length - 1;
  for (const issuer of [...search.roots, ...search.intermediates]) {
    if (below > issuer.pathLengthMax || path.some((one) => one.fingerprint === issuer.fingerprint)) continue;
    if (isIssuedBy(last.certificate, issuer, search)) searchPath([...path, issuer], search);
  }
}

function isIssuedBy(certificate: X509Certificate, issuer: Candidate, search: Search): boolean {
  if (!issuer.isAuthority || !certificate.checkIssued(issuer.certificate) || search.checksLeft === 0) return false;
  search.checksLeft--;
  return isSignedBy(certificate, issuer.certificate);
}

function isSignedBy(certificate: X509Certificate, issuer: X509Certificate): boolean {
  try {
    return certificate.verify(issuer.publicKey);
  } catch {
    // A signature with a key or algorithm that this build of OpenSSL does not support cannot be verified.
    return false;
  }
}

/**
 * As Go: a certificate of X.509 v1 has no field that marks a CA, so it is one if the bundle contains it. DIFFERS: only
 * if it is self-signed.
 */
function toRoot(certificate: X509Certificate): Candidate {
  const isOldRoot =
    isVersion1(certificate.raw) && certificate.checkIssued(certificate) && isSignedBy(certificate, certificate);
  return toCandidate(certificate, certificate.ca || isOldRoot);
}

function toCandidate(certificate: X509Certificate, isAuthority: boolean): Candidate {
  // Node names the extended key usages `keyUsage`. It is undefined if the certificate does not restrict its use.
  const usages = certificate.keyUsage as readonly string[] | undefined;
  return {
    certificate,
    fingerprint: certificate.fingerprint256,
    from: certificate.validFromDate.getTime(),
    until: certificate.validToDate.getTime(),
    allowsClients: usages === undefined || usages.includes(CLIENT_AUTH) || usages.includes(ANY_USAGE),
    isAuthority,
    pathLengthMax: readPathLengthMax(certificate.raw),
  };
}
