import type { Clock } from "../../../base/clock.ts";
import type { Authenticated, Authenticator } from "../authenticate.ts";
import { readSubject } from "../certificate-reader.ts";
import { rememberByChain, type CertificateChain, type CertificateVerifier } from "../client-certificates.ts";

const CREDENTIAL_ID = "authentication.kubernetes.io/credential-id";

/**
 * Authenticates users by client certificates that chain to `--client-ca-file`. The common name is the user name, and
 * the organizations are the groups.
 */
export function x509Authenticator(verify: CertificateVerifier, clock: Pick<Clock, "now">): Authenticator {
  const callerOf = rememberByChain(toCaller);
  return ({ connection: { clientChain } }) => {
    if (clientChain.length === 0) return "none";
    return verify(clientChain, clock.now()) === undefined ? callerOf(clientChain) : "rejected";
  };
}

/** Verifies the certificate of a user, including that it names one. */
export function userVerifier(verify: CertificateVerifier): CertificateVerifier {
  return (chain, now) =>
    verify(chain, now) ?? (toCaller(chain) === "rejected" ? "x509: subject has no common name" : undefined);
}

// Rejects a certificate without a common name. DIFFERS: kubernetes ignores such a certificate, so that its owner
// silently becomes anonymous.
function toCaller([leaf]: CertificateChain): Authenticated | "rejected" {
  const subject = leaf === undefined ? undefined : readSubject(leaf.raw);
  if (leaf === undefined || subject === undefined || subject.commonName === "") return "rejected";
  const fingerprint = leaf.fingerprint256.replaceAll(":", "").toLowerCase();
  const user = {
    name: subject.commonName,
    uid: "",
    groups: subject.organizations,
    extra: { [CREDENTIAL_ID]: [`X509SHA256=${fingerprint}`] },
  };
  return { user, isVerifiedPeer: false };
}
