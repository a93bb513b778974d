/**
 * Sends one small request to another server on this server's own behalf and reads the whole response within a deadline.
 */
import type { Clock } from "../../base/clock.ts";
import { responseHeader } from "./forwarded.ts";
import { UpstreamError, type UpstreamMessage, type UpstreamResponse } from "./upstream.ts";
import { wholeBody } from "./whole-body.ts";

export interface OwnRequest {
  readonly method: string;
  /** Path and query exactly as sent. */
  readonly target: string;
  /** The headers as alternating names and values. */
  readonly headers: readonly string[];
  readonly body?: Buffer | undefined;
  /** Time within which the response must be complete. */
  readonly timeoutMs: number;
  /** Maximum size of the response body; a larger response is rejected. */
  readonly bytesMax: number;
  readonly signal?: AbortSignal | undefined;
}

export interface WholeResponse {
  readonly status: number;
  readonly body: Buffer;
  /** The value of the first header with this name. `name` is in lower case. */
  header(name: string): string | undefined;
}

/** Returns the response, whatever its status. Rejects with `UpstreamError`s only. */
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
    return { status: response.status, body: whole, header: (name) => responseHeader(response, name) };
  } catch (thrown) {
    if (!isLate || !(thrown instanceof UpstreamError)) throw thrown;
    const { isSent } = thrown;
    throw new UpstreamError("timeout", `no response within ${timeoutMs} ms`, { isSent, timeoutMs, cause: thrown });
  } finally {
    cancel();
    signal?.removeEventListener("abort", onAbort);
  }
}

async function* once(bytes: Buffer): AsyncGenerator<Buffer, void, undefined> {
  if (bytes.length > 0) yield bytes;
}
