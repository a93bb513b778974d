/** Retries for API clients of both major versions of client-node: whole requests and responses, including bodies. */
import { sleep } from "../../base/clock.ts";
import { failureOf } from "../node-failures.ts";
import { attemptsAt, outcomeOf, waitAfter, type Lane } from "./lane.ts";
import type { HttpLibrary, Observable, RequestContext, ResponseContext } from "./shapes.ts";

export interface RetryingHttpOptions {
  readonly lane: Lane;
  /** Called before each retry, because tokens and certificates may have been rotated since. */
  readonly authenticateAgain: (request: RequestContext) => Promise<void>;
  /** Called before each attempt; calls back when its connection is established. */
  readonly onceConnected: (request: RequestContext, callback: () => void) => void;
}

export function retryingHttp(inner: HttpLibrary, options: RetryingHttpOptions): HttpLibrary {
  return { send: (request) => observe(send(inner, request, options)) };
}

async function send(
  inner: HttpLibrary,
  request: RequestContext,
  options: RetryingHttpOptions,
): Promise<ResponseContext> {
  const { lane, authenticateAgain } = options;
  const kind = { method: request.getHttpMethod(), isBodyReplayable: isReplayable(request.getBody()) };
  const attempts = attemptsAt(request.getUrl(), kind, lane);
  const signal = request.getSignal?.();
  for (;;) {
    const tried = await attempt(inner, request, options);
    const waitMs = signal?.aborted === true ? undefined : waitAfter(attempts, tried.outcome);
    if (waitMs === undefined) {
      if (tried.response === undefined) throw tried.error;
      return tried.response;
    }
    discard(tried.response);
    if (!(await sleep(lane.clock, waitMs, signal))) signal?.throwIfAborted();
    await authenticateAgain(request);
  }
}

type Tried =
  | { readonly outcome: ReturnType<typeof outcomeOf>; readonly response: ResponseContext }
  | { readonly outcome: ReturnType<typeof outcomeOf>; readonly response?: undefined; readonly error: Error };

async function attempt(inner: HttpLibrary, request: RequestContext, options: RetryingHttpOptions): Promise<Tried> {
  let wasSent = false;
  options.onceConnected(request, () => {
    wasSent = true;
  });
  try {
    const response = await inner.send(request).toPromise();
    return { response, outcome: outcomeOf(options.lane, response.httpStatusCode, response.headers) };
  } catch (thrown) {
    const error = thrown instanceof Error ? thrown : new Error(String(thrown), { cause: thrown });
    return { error, outcome: { failure: failureOf({ error, wasSent }) } };
  }
}

/** Any other body may be consumed once it has been sent. */
function isReplayable(body: unknown): boolean {
  if (body === undefined || body === null || typeof body === "string") return true;
  return body instanceof Uint8Array || body instanceof URLSearchParams;
}

/**
 * Reads a body to its end, because an unread body holds its connection. The caller does not wait, and errors are
 * ignored.
 */
function discard(response: ResponseContext | undefined): void {
  if (response === undefined) return;
  const { body } = response;
  const stream = body.stream?.();
  const ending: Promise<unknown> = stream === undefined || stream === null ? body.text() : stream.cancel();
  void ending.catch(() => undefined);
}

function observe<T>(promise: Promise<T>): Observable<T> {
  return { toPromise: () => promise, pipe: (change) => observe(promise.then(change)) };
}
