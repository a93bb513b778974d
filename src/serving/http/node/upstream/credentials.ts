import { createSecureContext, type SecureContext } from "node:tls";

import { UpstreamError } from "../../upstream.ts";

/** PEM texts. */
export interface UpstreamTls {
  /** Who may have signed the server's certificate; nobody else is trusted. */
  readonly ca: string;
  readonly cert: string;
  readonly key: string;
}

/** Keeps what Node makes of PEM texts, for as long as the same value is given. */
export class Credentials {
  readonly #tls: () => UpstreamTls;
  #made: { readonly from: UpstreamTls; readonly context: SecureContext } | undefined;

  constructor(tls: () => UpstreamTls) {
    this.#tls = tls;
  }

  current(): UpstreamTls {
    try {
      return this.#tls();
    } catch (error) {
      throw unusable(error);
    }
  }

  contextOf(from: UpstreamTls): SecureContext {
    if (this.#made?.from !== from) this.#made = { from, context: toContext(from) };
    return this.#made.context;
  }
}

function toContext({ ca, cert, key }: UpstreamTls): SecureContext {
  // Without a CA Node would trust those of the public web.
  if (!ca.includes("-----BEGIN")) throw unusable(new Error("there is no certificate authority for the server"));
  try {
    return createSecureContext({ ca, cert, key, minVersion: "TLSv1.2" });
  } catch (error) {
    throw unusable(error);
  }
}

function unusable(cause: unknown): UpstreamError {
  const problem = cause instanceof Error ? cause.message : String(cause);
  return new UpstreamError("tls", `the certificates for the connection cannot be used: ${problem}`, {
    isSent: false,
    cause,
  });
}
