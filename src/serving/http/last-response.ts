/**
 * Marks a response as the last of its connection. HTTP/1.1 then closes the connection; HTTP/2 lets open streams finish
 * first.
 */
import { headerValue, type ApiResponse } from "./message.ts";

export function asLastResponse(response: ApiResponse): ApiResponse {
  return { ...response, headers: { ...response.headers, connection: "close" } };
}

/** Called by transports. */
export function isLastResponse({ headers }: ApiResponse): boolean {
  const options = headerValue(headers, "connection");
  return options !== undefined && /(^|,)\s*close\s*(,|$)/i.test(options);
}
