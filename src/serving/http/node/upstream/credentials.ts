/** The certificates that connections to other servers are made with, and what Node makes of them. */
import { createSecureContext, type SecureContext } from "node:tls";

import { LruMap } from "../../../../base/lru-map.ts";
import { UpstreamError } from "../../upstream.ts";

/** By which this server proves who it is. PEM texts. */
export interface ClientCertificate {
  readonly cert: string;
  readonly key: string;
}

export interface UpstreamTls extends ClientCertificate {
  /** PEM of who may have signed the server's certificate; nobody else is trusted. */
  readonly ca: string;
}

/** Targets differ in the CA bundles they name; those in use at one time are few. */
const BUNDLES_MAX = 64;

const NO_CERTIFICATE: object = {};

/** Keeps contexts for as long as the same certificate is in use: parsing the PEM texts costs more than a handshake. */
export class SecureContexts {
  readonly #made = new WeakMap<object, LruMap<SecureContext>>();

  /** Throws an `UpstreamError` for PEM texts that cannot be used. */
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
    // Node would take a bundle without a certificate for trust in everybody whom the system trusts.
    if (ca !== undefined && !ca.includes("-----BEGIN CERTIFICATE-----"))
      throw new Error("unable to load root certificates: the bundle holds no certificate");
    return createSecureContext({
      minVersion: "TLSv1.2",
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
