/**
 * Creates the certificates of servers that call each other: one CA for their serving certificates, one for the client
 * certificates with which they proxy requests.
 */
import {
  createAuthority,
  issueCertificate,
  type KeyedCertificate,
} from "../src/serving/http/node/certificate-authority.ts";

export interface HopCertificates {
  readonly servingCaPem: string;
  readonly serving: KeyedCertificate;
  readonly clientCaPem: string;
  readonly client: KeyedCertificate;
}

/** The server name that API servers verify in each other's certificates. */
export const SERVER_NAME = "kubernetes.default.svc";

export function createHopCertificates(nowMs: number): HopCertificates {
  const servingCa = createAuthority({ commonName: "bench-ca", nowMs });
  const clientCa = createAuthority({ commonName: "bench-front-proxy-ca", nowMs });
  const hosts = [SERVER_NAME, "localhost", "127.0.0.1"];
  return {
    servingCaPem: servingCa.certPem,
    serving: issueCertificate({ ca: servingCa, commonName: "apiserver", hosts, usage: "serverAuth", nowMs }),
    clientCaPem: clientCa.certPem,
    client: issueCertificate({ ca: clientCa, commonName: "front-proxy-client", usage: "clientAuth", nowMs }),
  };
}
