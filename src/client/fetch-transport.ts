/** A transport over WHATWG fetch, for browsers and other runtimes that have it. */
import { abortedError, TransportError, type ClientResponse, type Transport } from "./transport.ts";

/** The part of the global `fetch` that the transport needs. */
export type FetchFunction = (url: string, init: FetchInit) => Promise<FetchResponse>;

interface FetchInit {
  method: string;
  headers: Record<string, string>;
  body?: Uint8Array<ArrayBuffer>;
  signal?: AbortSignal;
  redirect: "manual";
}

interface FetchResponse {
  readonly status: number;
  readonly headers: { forEach(callback: (value: string, name: string) => void): void };
  readonly body: { getReader(): FetchReader } | null;
}

interface FetchReader {
  read(): Promise<{ readonly done: boolean; readonly value?: Uint8Array | undefined }>;
  cancel(): Promise<void>;
}

export interface FetchTransportOptions {
  readonly fetch: FetchFunction;
  /** Such as "https://127.0.0.1:6443"; empty for the page's own origin. */
  readonly url: string;
  readonly token?: string | (() => string);
}

export function createFetchTransport(options: FetchTransportOptions): Transport {
  const { fetch: send, token } = options;
  const base = options.url.replace(/\/+$/, "");
  return {
    async send({ method, target, headers, body, signal }) {
      const bearer = typeof token === "function" ? token() : token;
      const init: FetchInit = {
        method,
        headers: { ...headers, ...(bearer === undefined ? {} : { authorization: `Bearer ${bearer}` }) },
        ...(body === undefined ? {} : { body: body as Uint8Array<ArrayBuffer> }),
        ...(signal === undefined ? {} : { signal }),
        redirect: "manual",
      };
      try {
        return toResponse(await send(base + target, init), signal);
      } catch (thrown) {
        throw toTransportError(thrown, signal);
      }
    },
  };
}

function toResponse(response: FetchResponse, signal: AbortSignal | undefined): ClientResponse {
  const headers: Record<string, string> = {};
  response.headers.forEach((value, name) => {
    headers[name.toLowerCase()] = value;
  });
  return { status: response.status, headers, body: chunks(response, signal) };
}

async function* chunks(
  { body }: FetchResponse,
  signal: AbortSignal | undefined,
): AsyncGenerator<Uint8Array, void, undefined> {
  if (body === null) return;
  const reader = body.getReader();
  let isDone = false;
  try {
    for (;;) {
      const { done, value } = await reader.read();
      isDone = done;
      if (done) return;
      if (value !== undefined) yield value;
    }
  } catch (thrown) {
    isDone = true;
    throw toTransportError(thrown, signal);
  } finally {
    if (!isDone) await reader.cancel();
  }
}

/** A failed fetch does not report the reason, except in Node, which sets the `cause` of the error. */
function toTransportError(thrown: unknown, signal: AbortSignal | undefined): TransportError {
  if (signal?.aborted === true) return abortedError(signal);
  const cause = thrown instanceof Error ? (thrown.cause ?? thrown) : undefined;
  const code = cause instanceof Error && "code" in cause ? cause.code : undefined;
  const isRejected = code === "ECONNREFUSED" || code === "ENOTFOUND";
  const message = thrown instanceof Error ? thrown.message : "the request failed";
  return new TransportError(isRejected ? "refused" : "reset", message, { cause: thrown });
}
