/** The interface between the client and the transports that send its requests: fetch, Node or in-process. */
import type { KubernetesObject } from "./objects.ts";

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
  /** Keys are lower case; the values of a repeated header are joined by ", ". */
  readonly headers: Readonly<Record<string, string | undefined>>;
  /**
   * Callers must iterate it once, to the end or until `return`: an unread body holds its connection. Ends when the body
   * is complete; throws a TransportError if it was interrupted or the signal aborted.
   */
  readonly body: AsyncIterable<Uint8Array>;
  /**
   * The body of a watch with its events as values where the server has them. Callers may iterate it instead of `body`.
   * Only the transport of the server's own client has it.
   */
  readonly events?: AsyncIterable<Uint8Array | SharedEvent>;
}

/** A watch event without managedFields, whose object is shared with other readers, which must not change it. */
export interface SharedEvent {
  readonly type: "ADDED" | "MODIFIED" | "DELETED";
  readonly object: KubernetesObject;
}

/**
 * Sends a request. Resolves when the status and headers of a response have arrived, including redirects and errors;
 * rejects with a TransportError if no response arrived. It sends the request again only if no server can have received
 * it, or if it is a read.
 */
export interface Transport {
  send(request: ClientRequest): Promise<ClientResponse>;
}

export type TransportFailure =
  /** No connection was established, so the request was not sent. */
  | "refused"
  /** The connection broke: a write may or may not have been executed. */
  | "reset"
  | "timeout"
  /** The caller's signal aborted the request. */
  | "aborted"
  /** The response is invalid: too long, or not of the requested kind. */
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
  return new TransportError("aborted", "the request was aborted", { cause: signal?.reason });
}

/** Reads the whole body; rejects as soon as it is longer than `bytesMax`. */
export async function readBody(body: AsyncIterable<Uint8Array>, bytesMax: number): Promise<Uint8Array> {
  const chunks: Uint8Array[] = [];
  let length = 0;
  for await (const chunk of body) {
    length += chunk.length;
    if (length > bytesMax) throw new TransportError("malformed", `the response is longer than ${bytesMax} bytes`);
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
