/** Request headers by which a client asks servers to be ready, and the response header in which servers report it. */
import { WAIT_FOR_SERVER_MS } from "./client-limits.ts";

export interface ReadinessOptions {
  /**
   * Asks servers with every request to respond only once they have been ready. Until then they return 503 with
   * Retry-After, which the client waits for. Default false.
   */
  readonly ifReadyHeader?: boolean;
  /**
   * The release that this client was built for, such as "1.36": a server of this release is preferred among several.
   */
  readonly compatibilityVersion?: string;
  /**
   * How long a request is retried while connections are refused. Every verb is safe to retry, because nothing was sent.
   * Default: a minute with `ifReadyHeader`, otherwise 0.
   */
  readonly waitForServerMs?: number;
}

/**
 * Whether the server was ready:
 *
 * - true: the server had been ready when it responded.
 * - false: it had not; it rejected the request, or responded with the data it had so far.
 * - "not understood": the server does not report it. It is another server, or reports it only on request.
 */
export type Ready = boolean | "not understood";

/** Keys are lower case. */
export type AnswerHeaders = Readonly<Record<string, string | readonly string[] | undefined>>;

/**
 * The readiness in the headers of one response, such as the `headers` of client-node's ApiException and of its
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

/** The readiness in the latest response. */
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
