/** The filter that limits the duration of requests. */
import type { Duplex } from "node:stream";

import type { Clock } from "../../../base/clock.ts";
import { parseGoDuration } from "../../../meta/go-duration.ts";
import { badRequest, StatusError } from "../../../meta/status-error.ts";
import type { PassingFilter } from "../chain.ts";
import type { ApiResponse, StreamSink } from "../message.ts";
import { discardResponse } from "../closed-sink.ts";
import { isLongRunning, type WithInfo } from "./request-info.ts";

/**
 * Responds within the deadline, even if the handler does not. `?timeout=` can only shorten the deadline. Long-running
 * requests, such as watches, have no deadline. When the deadline passes, the signal of the request aborts, as it does
 * when the client disconnects.
 */
export function deadline(options: {
  readonly clock: Clock;
  readonly requestTimeoutMs: number;
}): PassingFilter<WithInfo> {
  return (next) => (request) => {
    if (isLongRunning(request.info)) return next(request);
    return new Promise((resolve, reject) => {
      const timeoutMs = Math.min(options.requestTimeoutMs, requestedTimeoutMs(request) ?? Infinity);
      const { abort, release } =
        request.abort === undefined ? ownSignal(request) : { abort: request.abort, release: undefined };
      let isLate = false;
      const cancel = options.clock.after(timeoutMs, () => {
        const tooLate = timedOut();
        isLate = true;
        release?.();
        reject(tooLate);
        abort(tooLate);
      });
      const onResponse = (response: ApiResponse): void => {
        cancel();
        if (isLate) discardResponse(response);
        else resolve(release === undefined ? response : releasing(response, release));
      };
      const onFailure = (reason: Error): void => {
        cancel();
        release?.();
        reject(reason);
      };
      try {
        next(request).then(onResponse, onFailure);
      } catch (thrown) {
        onFailure(thrown as Error);
      }
    });
  };
}

/**
 * Replaces the signal of the request by one that this filter can abort. It also aborts when the original signal does.
 */
function ownSignal(request: WithInfo): { readonly abort: (reason: unknown) => void; readonly release: () => void } {
  const client = request.signal;
  const own = new AbortController();
  const abort = (reason: unknown): void => own.abort(reason);
  const onClientGone = (): void => abort(client.reason);
  if (client.aborted) onClientGone();
  else client.addEventListener("abort", onClientGone);
  Object.assign(request, { signal: own.signal, abort });
  return { abort, release: () => client.removeEventListener("abort", onClientGone) };
}

function timedOut(): StatusError {
  // The error has no Retry-After, because clients would automatically repeat a request that may have succeeded.
  return new StatusError("Timeout", "Timeout: request did not complete within the allotted timeout");
}

/**
 * Calls `release` when a streamed response has ended. Until then, the handler still sees that the client disconnects.
 */
function releasing(response: ApiResponse, release: () => void): ApiResponse {
  const { body } = response;
  if (body.kind === "stream") {
    const open = (sink: StreamSink): void => {
      // A transport may close the stream just before it reports that the client has disconnected.
      sink.onClose(() => queueMicrotask(release));
      body.open(sink);
    };
    return { ...response, body: { kind: "stream", open } };
  }
  if (body.kind === "upgrade") {
    const open = (socket: Duplex | undefined): void => {
      if (socket === undefined) release();
      else socket.once("close", release);
      body.open(socket);
    };
    return { ...response, body: { kind: "upgrade", open } };
  }
  release();
  return response;
}

/** Maximum length of the timeout parameter; every sensible duration is shorter. */
const TIMEOUT_LENGTH_MAX = 64;

/** The timeout in the query; undefined if there is none or it is not positive. */
export function requestedTimeoutMs(request: WithInfo): number | undefined {
  const text = request.query.get("timeout");
  if (text === undefined || text === "") return undefined;
  const asked = text.length > TIMEOUT_LENGTH_MAX ? "it is too long" : parseGoDuration(text);
  if (typeof asked === "string") throw badRequest(`invalid timeout specified in the request URL - ${asked}`);
  return asked > 0 ? asked : undefined;
}
