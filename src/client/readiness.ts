/** What a client says about itself with every request, and what servers say about themselves in return. */
import { WAIT_FOR_SERVER_MS } from "./client-limits.ts";

export interface ReadinessOptions {
  /**
   * Asks servers with every request not to answer before they have been ready once: until then the answer is
   * 503 with Retry-After, which is waited for. Default false.
   */
  readonly ifReadyHeader?: boolean;
  /** The release this client was made for, such as "1.36": among servers of several releases it is asked first. */
  readonly compatibilityVersion?: string;
  /**
   * How long a request is tried again while nobody listens. Nothing was sent then, so that every verb may be.
   * Default: a minute with `ifReadyHeader`, otherwise 0.
   */
  readonly waitForServerMs?: number;
}

/**
 *   true              the server had been ready when it answered
 *   false             it had not: it refused, or answered with what it knew so far
 *   "not understood"  it does not say: it is another server, or does so on demand only
 */
export type Ready = boolean | "not understood";

/** Keys are lower case. */
export type AnswerHeaders = Readonly<Record<string, string | readonly string[] | undefined>>;

/** Of one answer, such as the `headers` of client-node's ApiException and of its `…WithHttpInfo` answers. */
export function readyOf(headers: AnswerHeaders): Ready {
  const said = headers["x-kubernetes-ready"];
  if (said === "true") return true;
  return said === "false" ? false : "not understood";
}

/** Keys are lower case. */
export function readinessHeaders({ ifReadyHeader, compatibilityVersion }: ReadinessOptions): Record<string, string> {
  if (compatibilityVersion !== undefined && !/^1\.(0|[1-9][0-9]{0,3})$/.test(compatibilityVersion))
    throw new TypeError(`compatibilityVersion ${JSON.stringify(compatibilityVersion)} is not a release such as "1.36"`);
  return {
    ...(ifReadyHeader === true ? { "x-kubernetes-if-ready": "true" } : {}),
    ...(compatibilityVersion === undefined ? {} : { "x-kubernetes-compatibility-version": compatibilityVersion }),
  };
}

export function waitForServerMs(options: ReadinessOptions): number {
  return options.waitForServerMs ?? (options.ifReadyHeader === true ? WAIT_FOR_SERVER_MS : 0);
}

/** The latest answer's. */
export class Readiness {
  readonly #isAsked: boolean;
  latest: Ready | undefined;

  constructor({ ifReadyHeader }: ReadinessOptions) {
    this.#isAsked = ifReadyHeader === true;
  }

  note(headers: AnswerHeaders): void {
    if (this.#isAsked) this.latest = readyOf(headers);
  }
}
