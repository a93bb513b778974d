/**
 * The TLS configuration of the listener: the serving certificate and the accepted client CAs. Their files may be
 * replaced while the server runs.
 */
import { createSecureContext } from "node:tls";
import type { Log } from "../../../base/log.ts";
import type { ListenTls } from "../../../serving/http/node/listener.ts";
import type { CertificateAuthorities } from "./authorities.ts";
import type { Reloading } from "./reloading.ts";

export interface ServingKeyPair {
  readonly cert: string;
  readonly key: string;
}

interface ServingTls {
  readonly certificate: Reloading<ServingKeyPair>;
  readonly authorities: Reloading<CertificateAuthorities>;
}

/**
 * Throws if the certificate does not match the key. This happens while the two files are replaced one after the other.
 */
export function servingCertificate([cert = "", key = ""]: readonly string[]): ServingKeyPair {
  createSecureContext({ cert, key });
  return { cert, key };
}

/**
 * The TLS options of the listener. It requests client certificates of all CAs; authentication then determines which CA
 * has signed a certificate.
 */
export function listenTls({ certificate, authorities }: ServingTls): ListenTls {
  const { users, frontProxies } = authorities.current;
  const asked = [users, frontProxies].flatMap((authority) => authority?.pem ?? []);
  const { cert, key } = certificate.current;
  return { cert, key, ...(asked.length === 0 ? {} : { clientCa: asked.join("\n") }) };
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
}
