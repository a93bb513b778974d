/**
 * The TLS configuration of the listener: the serving certificate and the accepted client CAs. Their files may be
 * replaced while the server runs.
 */
import { X509Certificate } from "node:crypto";
import { createSecureContext } from "node:tls";
import type { Log } from "../../../base/log.ts";
import type { ListenTls, TlsSettings } from "../../../serving/http/node/listener.ts";
import type { NamedKeyPair } from "../../../serving/http/node/named-contexts.ts";
import type { CertificateAuthorities } from "./authorities.ts";
import type { Reloading } from "./reloading.ts";

export interface ServingKeyPair {
  readonly cert: string;
  readonly key: string;
}

interface ServingTls {
  readonly certificate: Reloading<ServingKeyPair>;
  readonly authorities: Reloading<CertificateAuthorities>;
  /** Certificates for single server names. */
  readonly named?: Reloading<readonly NamedKeyPair[]> | undefined;
  readonly settings?: TlsSettings | undefined;
}

/**
 * Throws if the certificate does not match the key. This happens while the two files are replaced one after the other.
 */
export function servingCertificate([cert = "", key = ""]: readonly string[]): ServingKeyPair {
  createSecureContext({ cert, key });
  return { cert, key };
}

/** The files of a certificate for single server names, as in --tls-sni-cert-key. */
export interface NamedKeyFiles {
  readonly certFile: string;
  readonly keyFile: string;
  /** Without any name, the certificate is used for the names that it contains. */
  readonly names: readonly string[];
}

/** `contents`: those of the certificate and the key of each entry, one after the other. Throws if they do not match. */
export function namedCertificates(
  entries: readonly NamedKeyFiles[],
  contents: readonly string[],
): readonly NamedKeyPair[] {
  const pairs = entries.map(({ names }, index) => {
    const { cert, key } = servingCertificate(contents.slice(2 * index, 2 * index + 2));
    return { cert, key, names, isExplicit: names.length > 0 };
  });
  // As kubernetes: a name that a flag sets has precedence over the same name in another certificate.
  return [
    ...pairs.filter(({ isExplicit }) => isExplicit),
    ...pairs.filter(({ isExplicit }) => !isExplicit).map((pair) => ({ ...pair, names: namesIn(pair.cert) })),
  ];
}

function namesIn(pem: string): string[] {
  const { subject, subjectAltName = "" } = new X509Certificate(pem);
  const common = /^CN=(.*)$/m.exec(subject)?.slice(1) ?? [];
  return [...common, ...[...subjectAltName.matchAll(/(?:^|, )DNS:([^,"]+)/g)].map(([, name = ""]) => name)];
}

/**
 * The TLS options of the listener. It requests client certificates of all CAs; authentication then determines which CA
 * has signed a certificate.
 */
export function listenTls({ certificate, authorities, named, settings }: ServingTls): ListenTls {
  const { users, frontProxies } = authorities.current;
  const asked = [users, frontProxies].flatMap((authority) => authority?.pem ?? []);
  const { cert, key } = certificate.current;
  return {
    ...settings,
    cert,
    key,
    ...(named === undefined ? {} : { named: named.current }),
    ...(asked.length === 0 ? {} : { clientCa: asked.join("\n") }),
  };
}

/** Applies each change to new connections; existing connections keep their certificates. */
export function applyTlsChanges(tls: ServingTls, setTls: (tls: ListenTls) => void, log: Pick<Log, "warn">): void {
  const apply = (): void => {
    try {
      setTls(listenTls(tls));
    } catch (thrown) {
      const error = thrown instanceof Error ? thrown.message : String(thrown);
      log.warn("failed to apply the changed serving certificate or client CAs; the previous ones stay in use", {
        error,
      });
    }
  };
  tls.certificate.onChange(apply);
  tls.authorities.onChange(apply);
  tls.named?.onChange(apply);
}
