/** What a listener shows and asks for, while the files that say so may be replaced. */
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

/** Files are replaced one by one: throws for a certificate that does not go with the key yet. */
export function servingCertificate([cert = "", key = ""]: readonly string[]): ServingKeyPair {
  createSecureContext({ cert, key });
  return { cert, key };
}

/** Whoever presents a certificate is looked at; which authority it leads to is for authentication to find out. */
export function listenTls({ certificate, authorities }: ServingTls): ListenTls {
  const { users, frontProxies } = authorities.current;
  const asked = [users, frontProxies].flatMap((authority) => authority?.pem ?? []);
  const { cert, key } = certificate.current;
  return { cert, key, ...(asked.length === 0 ? {} : { clientCa: asked.join("\n") }) };
}

/** Connections that are made from now on have what is current; those in use stay. */
export function followTls(tls: ServingTls, setTls: (tls: ListenTls) => void, log: Pick<Log, "warn">): void {
  const apply = (): void => {
    try {
      setTls(listenTls(tls));
    } catch (thrown) {
      const error = thrown instanceof Error ? thrown.message : String(thrown);
      log.warn("new certificates cannot be served; those before stay in use", { error });
    }
  };
  tls.certificate.onChange(apply);
  tls.authorities.onChange(apply);
}
