/** Who may sign certificates of users, and of front proxies, while the files that say so may be replaced. */
import { createCertificateVerifier, type CertificateVerifier } from "../client-certificates.ts";
import { refuseCommonCertificate } from "../request-header-options.ts";
import type { Reloading } from "./reloading.ts";

interface CertificateAuthority {
  readonly pem: string;
  readonly verify: CertificateVerifier;
}

export interface CertificateAuthorities {
  /** Of `--client-ca-file`. */
  readonly users: CertificateAuthority | undefined;
  /** Of `--requestheader-client-ca-file`. */
  readonly frontProxies: CertificateAuthority | undefined;
}

interface AuthorityTexts {
  readonly users: string | undefined;
  readonly frontProxies: string | undefined;
  /** Front proxies are known by name, too. */
  readonly hasAllowedNames: boolean;
}

/** Throws an Error with one clear sentence for what cannot be used. */
export function certificateAuthorities({
  users,
  frontProxies,
  hasAllowedNames,
}: AuthorityTexts): CertificateAuthorities {
  // DIFFERS: kubernetes looks at this when it starts, and not when a file is replaced.
  if (users !== undefined && frontProxies !== undefined && !hasAllowedNames)
    refuseCommonCertificate(frontProxies, users);
  return { users: authority(users), frontProxies: authority(frontProxies) };
}

/** Asks whoever is trusted at the moment; nobody is while there is no authority. */
export function currentVerifier(
  authorities: Reloading<CertificateAuthorities>,
  of: keyof CertificateAuthorities,
): CertificateVerifier {
  return (chain, now) => authorities.current[of]?.verify(chain, now) ?? false;
}

function authority(pem: string | undefined): CertificateAuthority | undefined {
  return pem === undefined ? undefined : { pem, verify: createCertificateVerifier(pem) };
}
