/** The certificates of servers that call each other: one authority for servers, one for who speaks for users. */
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

/** The name under which API servers know each other. */
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
