/**
 * The certificate of a server that was given none. As kubernetes client-go/util/cert#GenerateSelfSignedCertKey:
 * a certificate authority of its own signs the leaf, because Go clients accept as a trust anchor only a CA.
 */
import { createAuthority, issueCertificate } from "./certificate-authority.ts";

export interface ServingCertificateOptions {
  /** DNS names and IP addresses under which clients reach the server. */
  readonly hosts: readonly string[];
  readonly commonName: string;
  readonly nowMs: number;
  /** What the leaf is good for; a server unless told otherwise. */
  readonly usage?: "serverAuth" | "clientAuth";
}

export interface ServingCertificate {
  /** The leaf, then the CA: what the server presents. */
  readonly certPem: string;
  readonly keyPem: string;
  /** What clients trust (`certificate-authority-data`). The CA's key is not kept. */
  readonly caPem: string;
}

export function createServingCertificate(options: ServingCertificateOptions): ServingCertificate {
  const { commonName, hosts, nowMs, usage = "serverAuth" } = options;
  const ca = createAuthority({ commonName: `${commonName}-ca`, nowMs });
  const leaf = issueCertificate({ ca, commonName, hosts, usage, nowMs });
  return { certPem: leaf.certPem + ca.certPem, keyPem: leaf.keyPem, caPem: ca.certPem };
}
