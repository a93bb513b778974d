/**
 * Retries for the API clients of both major versions of client-node. It repeats whole requests, including their bodies.
 */
import { sleep } from "../../base/clock.ts";
import { failureOf } from "../node-failures.ts";
import { attemptsAt, outcomeOf, waitAfter, type Lane } from "./lane.ts";
import type { HttpLibrary, Observable, RequestContext, ResponseContext } from "./shapes.ts";

export interface RetryingHttpOptions {
  readonly lane: Lane;
  /** Called before each retry, because the token or certificate may have been rotated. */
  readonly authenticateAgain: (request: RequestContext) => Promise<void>;
  /** Called before each attempt. It calls `callback` when the connection of the attempt is established. */
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

/** Bodies of other types, such as streams, may be consumed by the first attempt. */
function isReplayable(body: unknown): boolean {
  if (body === undefined || body === null || typeof body === "string") return true;
  return body instanceof Uint8Array || body instanceof URLSearchParams;
}

/**
 * Cancels the body (2.x) or reads it to its end (1.x), because an unread body holds its connection. The caller does not
 * wait for this, and errors are ignored.
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
