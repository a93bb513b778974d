/** Responses of other servers, for tests that fake those servers. */
import { bytesBody } from "../../../../src/serving/http/message.ts";
import type { UpstreamResponse } from "../../../../src/serving/http/upstream.ts";

export function answerOf(status: number, headers: readonly string[] = [], text = ""): UpstreamResponse {
  return { status, headers, body: bytesBody(Buffer.from(text)) };
}

export function jsonAnswer(value: unknown, headers: readonly string[] = []): UpstreamResponse {
  return answerOf(200, ["Content-Type", "application/json", ...headers], JSON.stringify(value));
}
