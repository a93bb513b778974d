/**
 * Generates the certificate of a server that was started without one. As kubernetes
 * client-go/util/cert#GenerateSelfSignedCertKey: a generated CA signs the leaf, because Go clients accept only a CA as
 * a trust anchor.
 */
import { createAuthority, issueCertificate, type IssueOptions } from "./certificate-authority.ts";

export interface ServingCertificate {
  /** The leaf followed by the CA, as the server presents them. */
  readonly certPem: string;
  readonly keyPem: string;
  /** The CA that clients trust (`certificate-authority-data`). Its key is not kept. */
  readonly caPem: string;
}

/**
 * `hosts` are the names and addresses at which clients reach the server. The leaf is a serving certificate unless
 * `usage` is given.
 */
export function createServingCertificate(
  options: Pick<IssueOptions, "commonName" | "hosts" | "nowMs"> & Partial<Pick<IssueOptions, "usage">>,
): ServingCertificate {
  const { commonName, hosts = [], nowMs, usage = "serverAuth" } = options;
  const ca = createAuthority({ commonName: `${commonName}-ca`, nowMs });
  const leaf = issueCertificate({ ca, commonName, hosts, usage, nowMs });
  return { certPem: leaf.certPem + ca.certPem, keyPem: leaf.keyPem, caPem: ca.certPem };
}
