/** The CAs that sign the certificates of users and front proxies. Their files may be replaced while the server runs. */
import { createCertificateVerifier, type CertificateVerifier } from "../client-certificates.ts";
import { rejectCommonCertificate } from "../request-header-options.ts";
import type { Reloading } from "./reloading.ts";

interface CertificateAuthority {
  readonly pem: string;
  readonly verify: CertificateVerifier;
}

export interface CertificateAuthorities {
  /** CA of `--client-ca-file`. */
  readonly users: CertificateAuthority | undefined;
  /** CA of `--requestheader-client-ca-file`. */
  readonly frontProxies: CertificateAuthority | undefined;
}

interface AuthorityTexts {
  readonly users: string | undefined;
  readonly frontProxies: string | undefined;
  /** True if `--requestheader-allowed-names` restricts the front proxies. */
  readonly hasAllowedNames: boolean;
}

/** Throws an Error with a one-sentence message if the CAs are invalid. */
export function certificateAuthorities({
  users,
  frontProxies,
  hasAllowedNames,
}: AuthorityTexts): CertificateAuthorities {
  // DIFFERS: kubernetes makes this check at startup, but not when a file is replaced.
  if (users !== undefined && frontProxies !== undefined && !hasAllowedNames)
    rejectCommonCertificate(frontProxies, users);
  return { users: authority(users), frontProxies: authority(frontProxies) };
}

/** Verifies certificates against the current CA. Rejects all certificates if there is no CA. */
export function currentVerifier(
  authorities: Reloading<CertificateAuthorities>,
  of: keyof CertificateAuthorities,
): CertificateVerifier {
  return (chain, now) => {
    const current = authorities.current[of];
    return current === undefined ? "there is no CA" : current.verify(chain, now);
  };
}

function authority(pem: string | undefined): CertificateAuthority | undefined {
  return pem === undefined ? undefined : { pem, verify: createCertificateVerifier(pem) };
}
