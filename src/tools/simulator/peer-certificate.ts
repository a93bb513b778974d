/** The certificate by which servers of a simulated cluster know each other: a real one, so that the real chain checks it. */
import { X509Certificate } from "node:crypto";
import { createAuthority, issueCertificate } from "../../serving/http/node/certificate-authority.ts";
import type { ConnectionInfo } from "../../serving/http/message.ts";

export interface PeerCertificate {
  /** PEM, for `requestHeader.clientCa`. */
  readonly authority: string;
  /** Always the same value: servers remember what they found out about it. */
  readonly chain: ConnectionInfo["clientChain"];
}

/** Of some days' validity before and after, because clocks of servers are wrong. */
export function createPeerCertificate(nowMs: number): PeerCertificate {
  const from = nowMs - 24 * 3_600_000;
  const ca = createAuthority({ commonName: "simulated-front-proxy-ca", nowMs: from });
  const { certPem } = issueCertificate({ ca, commonName: "front-proxy-client", usage: "clientAuth", nowMs: from });
  return { authority: ca.certPem, chain: [new X509Certificate(certPem)] };
}
