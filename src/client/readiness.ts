/**
 * The request headers for readiness and compatibility version, and the response header in which servers report their
 * readiness.
 */
import { WAIT_FOR_SERVER_MS } from "./client-limits.ts";

export interface ReadinessOptions {
  /**
   * Sends the header that makes a server serve the request only if it is ready. A server that is not ready returns 503 with
   * Retry-After, and the client waits and retries. Default false.
   */
  readonly ifReadyHeader?: boolean;
  /**
   * The release for which this client was built, such as "1.36". If several servers can serve a request, a server of
   * this release is preferred.
   */
  readonly compatibilityVersion?: string;
  /**
   * How long a request is retried while connections are refused. Every verb can be retried, because nothing was sent.
   * Default: a minute if `ifReadyHeader` is set, otherwise 0.
   */
  readonly waitForServerMs?: number;
}

/**
 * The readiness that a response reported:
 *
 * - true: the server has been ready at least once.
 * - false: the server has not been ready yet. It returned 503, or a response from the data that it had so far.
 * - "not understood": the server does not support the header, or reports its readiness only on request.
 */
export type Ready = boolean | "not understood";

/** Keys are lower case. */
export type AnswerHeaders = Readonly<Record<string, string | readonly string[] | undefined>>;

/**
 * Reads the readiness from the headers of one response, such as the `headers` of client-node's ApiException and of its
 * `…WithHttpInfo` responses.
 */
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

/** Remembers the readiness that the latest response reported. */
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
