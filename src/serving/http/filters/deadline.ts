import type { Duplex } from "node:stream";

import type { Clock } from "../../../base/clock.ts";
import { parseGoDuration } from "../../../meta/go-duration.ts";
import { badRequest, StatusError } from "../../../meta/status-error.ts";
import type { PassingFilter } from "../chain.ts";
import type { ApiResponse, StreamSink } from "../message.ts";
import { discardAnswer } from "../closed-sink.ts";
import { isLongRunning, type WithInfo } from "./request-info.ts";

/**
 * Answers in time, whatever happens behind it; `?timeout=` may only shorten. Watches have no deadline. What it gave up on
 * sees its signal aborted, as it does when the client leaves.
 */
export function deadline(options: {
  readonly clock: Clock;
  readonly requestTimeoutMs: number;
}): PassingFilter<WithInfo> {
  return (next) => async (request) => {
    if (isLongRunning(request.info)) return next(request);
    const timeoutMs = Math.min(options.requestTimeoutMs, askedTimeoutMs(request) ?? Infinity);
    const { abort, release } =
      request.abort === undefined ? ownSignal(request) : { abort: request.abort, release: undefined };
    return new Promise((resolve, reject) => {
      let isLate = false;
      const cancel = options.clock.after(timeoutMs, () => {
        const tooLate = timedOut();
        isLate = true;
        release?.();
        reject(tooLate);
        abort(tooLate);
      });
      const onAnswer = (response: ApiResponse): void => {
        cancel();
        if (isLate) discardAnswer(response);
        else resolve(release === undefined ? response : releasing(response, release));
      };
      const onFailure = (reason: Error): void => {
        cancel();
        release?.();
        reject(reason);
      };
      next(request).then(onAnswer, onFailure);
    });
  };
}

/** Gives the request a signal that follows the one it has, and can be aborted. */
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
  // Without a time to come again: clients would repeat by themselves what may have happened.
  return new StatusError("Timeout", "Timeout: request did not complete within the allotted timeout");
}

/** While an answer has no end yet, what feeds it must still learn that the client has left. */
function releasing(response: ApiResponse, release: () => void): ApiResponse {
  const { body } = response;
  if (body.kind === "stream") {
    const open = (sink: StreamSink): void => {
      // A transport may close the stream just before it says that the client has left.
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

/** Longer than any duration worth saying. */
const TIMEOUT_LENGTH_MAX = 64;

/** Undefined where nothing is asked for, or no time at all. */
export function askedTimeoutMs(request: WithInfo): number | undefined {
  const text = request.query.get("timeout");
  if (text === undefined || text === "") return undefined;
  const asked = text.length > TIMEOUT_LENGTH_MAX ? "it is too long" : parseGoDuration(text);
  if (typeof asked === "string") throw badRequest(`invalid timeout specified in the request URL - ${asked}`);
  return asked > 0 ? asked : undefined;
}
