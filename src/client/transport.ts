/** How requests leave: the port between the client and whatever carries its messages. */

export interface ClientRequest {
  /** Upper case. */
  readonly method: string;
  /** Path and query, percent-encoded, starting with a slash. */
  readonly target: string;
  /** Keys are lower case. */
  readonly headers: Readonly<Record<string, string>>;
  readonly body?: Uint8Array;
  readonly signal?: AbortSignal;
}

export interface ClientResponse {
  readonly status: number;
  /** Keys are lower case; of a header sent several times, all values joined by ", ". */
  readonly headers: Readonly<Record<string, string | undefined>>;
  /**
   * May be iterated once, and must be, or left by `return`: an unread body holds its connection. Ends
   * when the body is complete; throws a TransportError when it was cut short or the signal aborted.
   */
  readonly body: AsyncIterable<Uint8Array>;
}

/**
 * Sends one request once. Resolves with the head of whatever answer came, redirects and errors included;
 * rejects with a TransportError when no answer came. It does not retry, except where it knows that
 * nobody has seen the request.
 */
export interface Transport {
  send(request: ClientRequest): Promise<ClientResponse>;
}

export type TransportFailure =
  /** Nobody listens, or nobody could be found: the request was not sent. */
  | "refused"
  /** The connection broke: of a write nobody knows whether it happened. */
  | "reset"
  | "timeout"
  /** By the caller's signal. */
  | "aborted"
  /** An answer that is none: too long, or not what was asked for. */
  | "malformed"
  | "other";

export class TransportError extends Error {
  override readonly name = "TransportError";
  readonly failure: TransportFailure;

  constructor(failure: TransportFailure, message: string, options?: { readonly cause?: unknown }) {
    super(message, options);
    this.failure = failure;
  }
}

export function isFailure(thrown: unknown, failure: TransportFailure): thrown is TransportError {
  return thrown instanceof TransportError && thrown.failure === failure;
}

export function abortedError(signal: AbortSignal | undefined): TransportError {
  return new TransportError("aborted", "the request was given up", { cause: signal?.reason });
}

/** The whole body; rejects as soon as it is longer than that. */
export async function readBody(body: AsyncIterable<Uint8Array>, bytesMax: number): Promise<Uint8Array> {
  const chunks: Uint8Array[] = [];
  let length = 0;
  for await (const chunk of body) {
    length += chunk.length;
    if (length > bytesMax) throw new TransportError("malformed", `the answer is longer than ${bytesMax} bytes`);
    chunks.push(chunk);
  }
  return concatBytes(chunks, length);
}

export function concatBytes(chunks: readonly Uint8Array[], length: number): Uint8Array {
  const [first] = chunks;
  if (first !== undefined && chunks.length === 1) return first;
  const whole = new Uint8Array(length);
  let at = 0;
  for (const chunk of chunks) {
    whole.set(chunk, at);
    at += chunk.length;
  }
  return whole;
}
