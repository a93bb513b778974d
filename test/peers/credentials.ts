/** The certificates of one test cluster: for serving, for proxying requests of users, and one of an untrusted CA. */
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import {
  createAuthority,
  issueCertificate,
  type KeyedCertificate,
} from "../../src/serving/http/node/certificate-authority.ts";

export interface Credentials {
  /** The CA of the serving certificates. */
  readonly servingCa: string;
  readonly serving: KeyedCertificate;
  /** The CA of the certificates that servers present to each other when they proxy requests of users. */
  readonly proxyCa: string;
  readonly proxy: KeyedCertificate;
  /** A serving certificate that an untrusted CA has signed. */
  readonly strange: KeyedCertificate;
}

export const PROXY_NAME = "front-proxy-client";

export function createCredentials(): Credentials {
  const nowMs = Date.now();
  const serving = createAuthority({ commonName: "serving-ca", nowMs });
  const proxy = createAuthority({ commonName: "front-proxy-ca", nowMs });
  const untrusted = createAuthority({ commonName: "strange-ca", nowMs });
  const hosts = ["127.0.0.1", "localhost", "kubernetes.default.svc"];
  return {
    servingCa: serving.certPem,
    serving: issueCertificate({ ca: serving, commonName: "kube-apiserver", hosts, usage: "serverAuth", nowMs }),
    proxyCa: proxy.certPem,
    proxy: issueCertificate({ ca: proxy, commonName: PROXY_NAME, usage: "clientAuth", nowMs }),
    strange: issueCertificate({ ca: untrusted, commonName: PROXY_NAME, hosts, usage: "serverAuth", nowMs }),
  };
}

export interface CredentialFiles {
  readonly caFile: string;
  readonly certFile: string;
  readonly keyFile: string;
  /** A directory in which a test can write other files. */
  readonly directory: string;
  remove(): void;
}

export function writeCredentials({ servingCa, proxy }: Credentials): CredentialFiles {
  const directory = mkdtempSync(join(tmpdir(), "evenkeel-peers-"));
  const write = (name: string, text: string): string => {
    const file = join(directory, name);
    writeFileSync(file, text, { mode: 0o600 });
    return file;
  };
  return {
    caFile: write("peer-ca.crt", servingCa),
    certFile: write("proxy.crt", proxy.certPem),
    keyFile: write("proxy.key", proxy.keyPem),
    directory,
    remove: () => rmSync(directory, { recursive: true, force: true }),
  };
}
