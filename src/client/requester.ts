/** Sends a request as often as the retry rules allow, and converts the response into a value or an error. */
import { sleep, type Clock } from "../base/clock.ts";
import type { StatusError } from "../meta/status-error.ts";
import { Deadline } from "./deadline.ts";
import { RESPONSE_BYTES_MAX, ERROR_BYTES_MAX } from "./client-limits.ts";
import { Attempts } from "./attempts.ts";
import { retryAfterSeconds, type FailedAttempt } from "./retry.ts";
import { responseError } from "./status.ts";
import {
  abortedError,
  isFailure,
  readBody,
  TransportError,
  type ClientRequest,
  type ClientResponse,
  type Transport,
} from "./transport.ts";

interface RequesterOptions {
  readonly transport: Transport;
  readonly clock: Clock;
  /** Sent with every request; keys are lower case. */
  readonly headers: Readonly<Record<string, string>>;
  readonly retriesMax?: number | undefined;
  readonly waitForServerMs?: number | undefined;
  readonly timeoutMs?: number | undefined;
  /** Called with the headers of every response, including responses that lead to a retry. */
  readonly onResponse?: (headers: ClientResponse["headers"]) => void;
}

export interface RequestSpec {
  readonly method: string;
  /** Path and query. */
  readonly target: string;
  readonly headers?: Readonly<Record<string, string>>;
  /** Sent as JSON. */
  readonly body?: unknown;
  /** Default application/json. */
  readonly contentType?: string;
  readonly signal?: AbortSignal | undefined;
  readonly timeoutMs?: number | undefined;
}

export interface TextResponse {
  readonly status: number;
  readonly headers: ClientResponse["headers"];
  readonly text: string;
}

export class Requester {
  readonly #options: RequesterOptions;

  constructor(options: RequesterOptions) {
    this.#options = options;
  }

  /** Resolves to the whole response if its status is 2xx. */
  async read(spec: RequestSpec): Promise<TextResponse> {
    using deadline = new Deadline(this.#options.clock, spec.signal);
    const timeoutMs = spec.timeoutMs ?? this.#options.timeoutMs;
    if (timeoutMs !== undefined) deadline.set(timeoutMs);
    try {
      const response = await this.#send(this.#toRequest(spec, deadline.signal), "read");
      const bytes = await readBody(response.body, RESPONSE_BYTES_MAX);
      return { status: response.status, headers: response.headers, text: new TextDecoder().decode(bytes) };
    } catch (thrown) {
      if (deadline.isExpired && isFailure(thrown, "aborted")) {
        throw new TransportError("timeout", `no response within ${timeoutMs} ms`, { cause: thrown });
      }
      throw thrown;
    }
  }

  /**
   * Resolves to the response with its body as a stream if its status is 2xx. `timeoutMs` does not limit the stream;
   * only the signal ends it early.
   */
  async stream(spec: RequestSpec): Promise<ClientResponse> {
    return this.#send(this.#toRequest(spec, spec.signal), "watch");
  }

  #toRequest(spec: RequestSpec, signal: AbortSignal | undefined): ClientRequest {
    const hasBody = spec.body !== undefined;
    return {
      method: spec.method,
      target: spec.target,
      headers: {
        accept: "application/json",
        ...this.#options.headers,
        ...(hasBody ? { "content-type": spec.contentType ?? "application/json" } : {}),
        ...spec.headers,
      },
      ...(hasBody ? { body: new TextEncoder().encode(JSON.stringify(spec.body)) } : {}),
      ...(signal === undefined ? {} : { signal }),
    };
  }

  async #send(request: ClientRequest, purpose: "read" | "watch"): Promise<ClientResponse> {
    const kind = { method: request.method, isWatch: purpose === "watch", isBodyReplayable: true };
    const attempts = new Attempts(this.#options, kind);
    for (;;) {
      const outcome = await this.#attempt(request);
      if (outcome.kind === "accepted") return outcome.response;
      const decision = attempts.decide(outcome.facts);
      if (!decision.retry) throw outcome.error;
      if (!(await sleep(this.#options.clock, decision.waitMs, request.signal))) throw abortedError(request.signal);
    }
  }

  async #attempt(request: ClientRequest): Promise<Outcome> {
    if (request.signal?.aborted === true) throw abortedError(request.signal);
    try {
      const response = await this.#options.transport.send(request);
      this.#options.onResponse?.(response.headers);
      if (response.status >= 200 && response.status < 300) return { kind: "accepted", response };
      return await rejection(request.method, response);
    } catch (thrown) {
      if (!(thrown instanceof TransportError)) throw thrown;
      return { kind: "failed", error: thrown, facts: { failure: thrown.failure } };
    }
  }
}

type Outcome =
  | { readonly kind: "accepted"; readonly response: ClientResponse }
  | {
      readonly kind: "failed";
      readonly error: StatusError | TransportError;
      readonly facts: FailedAttempt["outcome"];
    };

async function rejection(method: string, response: ClientResponse): Promise<Outcome> {
  const { status, headers } = response;
  const retryAfter = headers["retry-after"];
  const text = new TextDecoder().decode(await readBody(response.body, ERROR_BYTES_MAX));
  const error = responseError({ method, status, text, retryAfterSeconds: retryAfterSeconds(retryAfter) });
  return { kind: "failed", error, facts: { status, retryAfter } };
}
