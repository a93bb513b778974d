/** One small request to another server on this server's own behalf: the answer is read whole, within a deadline. */
import type { Clock } from "../../base/clock.ts";
import { answerHeader } from "./forwarded.ts";
import { UpstreamError, type UpstreamMessage, type UpstreamResponse } from "./upstream.ts";
import { wholeBody } from "./whole-body.ts";

export interface OwnRequest {
  readonly method: string;
  /** Path and query exactly as they go on the wire. */
  readonly target: string;
  /** name, value, … */
  readonly headers: readonly string[];
  readonly body?: Buffer | undefined;
  /** Until the answer is complete. */
  readonly timeoutMs: number;
  /** More of an answer is rejected. */
  readonly bytesMax: number;
  readonly signal?: AbortSignal | undefined;
}

export interface WholeResponse {
  readonly status: number;
  readonly body: Buffer;
  /** The first with this name, which is in lower case. */
  header(name: string): string | undefined;
}

/** The answer, whatever its status. Rejects with `UpstreamError`s only. */
export async function sendOwnRequest(
  { method, target, headers, body, timeoutMs, bytesMax, signal }: OwnRequest,
  clock: Clock,
  send: (message: UpstreamMessage) => Promise<UpstreamResponse>,
): Promise<WholeResponse> {
  const giveUp = new AbortController();
  let isLate = false;
  const onAbort = (): void => giveUp.abort();
  const cancel = clock.after(timeoutMs, () => {
    isLate = true;
    giveUp.abort();
  });
  signal?.addEventListener("abort", onAbort, { once: true });
  if (signal?.aborted === true) onAbort();
  try {
    const response = await send({
      method,
      target,
      headers,
      isUpgrade: false,
      signal: giveUp.signal,
      body: body === undefined ? undefined : once(body),
      contentLength: body?.length,
    });
    const whole = await wholeBody(response.body, bytesMax);
    return { status: response.status, body: whole, header: (name) => answerHeader(response, name) };
  } catch (thrown) {
    if (!isLate || !(thrown instanceof UpstreamError)) throw thrown;
    const { isSent } = thrown;
    throw new UpstreamError("timeout", `there was no answer within ${timeoutMs} ms`, { isSent, cause: thrown });
  } finally {
    cancel();
    signal?.removeEventListener("abort", onAbort);
  }
}

async function* once(bytes: Buffer): AsyncGenerator<Buffer, void, undefined> {
  if (bytes.length > 0) yield bytes;
}
