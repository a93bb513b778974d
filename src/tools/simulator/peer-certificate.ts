/**
 * Creates the certificate by which servers of a simulated cluster authenticate each other. It is a real one, which the
 * production code verifies.
 */
import { X509Certificate } from "node:crypto";
import { createAuthority, issueCertificate } from "../../serving/http/node/certificate-authority.ts";
import type { ConnectionInfo } from "../../serving/http/message.ts";

export interface PeerCertificate {
  /** PEM, for `requestHeader.clientCa`. */
  readonly authority: string;
  /** Always the same value, because servers cache the result of its verification. */
  readonly chain: ConnectionInfo["clientChain"];
}

/** The certificate is valid for some days before and after, because the clocks of servers are wrong. */
export function createPeerCertificate(nowMs: number): PeerCertificate {
  const from = nowMs - 24 * 3_600_000;
  const ca = createAuthority({ commonName: "simulated-front-proxy-ca", nowMs: from });
  const { certPem } = issueCertificate({ ca, commonName: "front-proxy-client", usage: "clientAuth", nowMs: from });
  return { authority: ca.certPem, chain: [new X509Certificate(certPem)] };
}
