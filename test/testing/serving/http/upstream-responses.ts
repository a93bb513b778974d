/** Responses of peers and aggregated API servers, for tests that fake these servers. */
import { bytesBody } from "../../../../src/serving/http/message.ts";
import type { UpstreamResponse } from "../../../../src/serving/http/upstream.ts";

export function upstreamResponse(status: number, headers: readonly string[] = [], text = ""): UpstreamResponse {
  return { status, headers, body: bytesBody(Buffer.from(text)) };
}

export function jsonUpstreamResponse(value: unknown, headers: readonly string[] = []): UpstreamResponse {
  return upstreamResponse(200, ["Content-Type", "application/json", ...headers], JSON.stringify(value));
}
