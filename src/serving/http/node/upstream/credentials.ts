/** The certificates of connections to other servers, and the cached TLS contexts that Node creates from them. */
import { createSecureContext, type SecureContext } from "node:tls";

import { LruMap } from "../../../../base/lru-map.ts";
import { UpstreamError } from "../../upstream.ts";

/** The client certificate of this server and its key, as PEM texts. */
export interface ClientCertificate {
  readonly cert: string;
  readonly key: string;
}

export interface UpstreamTls extends ClientCertificate {
  /** PEM of the only CAs that may have signed the server's certificate. */
  readonly ca: string;
}

/** Maximum number of cached CA bundles per client certificate. Few are in use at the same time. */
const BUNDLES_MAX = 64;

const NO_CERTIFICATE: object = {};

/**
 * Caches TLS contexts while the same client certificate is in use, because parsing the PEM texts costs more than a
 * handshake.
 */
export class SecureContexts {
  readonly #made = new WeakMap<object, LruMap<SecureContext>>();

  /** Throws an `UpstreamError` if the PEM texts cannot be used. */
  get(ca: string | undefined, certificate: ClientCertificate | undefined): SecureContext {
    let ofCertificate = this.#made.get(certificate ?? NO_CERTIFICATE);
    if (ofCertificate === undefined) {
      ofCertificate = new LruMap(BUNDLES_MAX);
      this.#made.set(certificate ?? NO_CERTIFICATE, ofCertificate);
    }
    let context = ofCertificate.get(ca ?? "");
    if (context === undefined) {
      context = createContext(ca, certificate);
      ofCertificate.set(ca ?? "", context);
    }
    return context;
  }
}

function createContext(ca: string | undefined, own: ClientCertificate | undefined): SecureContext {
  try {
    // With a bundle that contains no certificate, Node would trust every CA of the system.
    if (ca !== undefined && !ca.includes("-----BEGIN CERTIFICATE-----"))
      throw new Error("unable to load root certificates: the bundle holds no certificate");
    return createSecureContext({
      minVersion: "TLSv1.2",
      // As Go: every certificate of the bundle is trusted, even if it is the server's own and not that of a CA.
      allowPartialTrustChain: true,
      ...(ca === undefined ? {} : { ca }),
      ...(own === undefined ? {} : { cert: own.cert, key: own.key }),
    });
  } catch (error) {
    throw unusableCredentials(error);
  }
}

export function unusableCredentials(cause: unknown): UpstreamError {
  const problem = cause instanceof Error ? cause.message : String(cause);
  return new UpstreamError("tls", `the certificates for the connection cannot be used: ${problem}`, {
    isSent: false,
    cause,
  });
}
