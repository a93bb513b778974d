/**
 * The certificate of a server that was given none. As kubernetes client-go/util/cert#GenerateSelfSignedCertKey:
 * a certificate authority of its own signs the leaf, because Go clients accept as a trust anchor only a CA.
 */
import { createAuthority, issueCertificate, type IssueOptions } from "./certificate-authority.ts";

export interface ServingCertificate {
  /** The leaf, then the CA: what the server presents. */
  readonly certPem: string;
  readonly keyPem: string;
  /** What clients trust (`certificate-authority-data`). The CA's key is not kept. */
  readonly caPem: string;
}

/** The hosts are those under which clients reach the server. The leaf is for a server unless its usage says otherwise. */
export function createServingCertificate(
  options: Pick<IssueOptions, "commonName" | "hosts" | "nowMs"> & Partial<Pick<IssueOptions, "usage">>,
): ServingCertificate {
  const { commonName, hosts = [], nowMs, usage = "serverAuth" } = options;
  const ca = createAuthority({ commonName: `${commonName}-ca`, nowMs });
  const leaf = issueCertificate({ ca, commonName, hosts, usage, nowMs });
  return { certPem: leaf.certPem + ca.certPem, keyPem: leaf.keyPem, caPem: ca.certPem };
}
