/**
 * Marks a response as the last of its connection. HTTP/1.1 then closes the connection; HTTP/2 closes it when its open
 * streams have ended.
 */
import { headerValue, type ApiResponse } from "./message.ts";

export function asLastResponse(response: ApiResponse): ApiResponse {
  return { ...response, headers: { ...response.headers, connection: "close" } };
}

/** True if the transport must close the connection after this response. */
export function isLastResponse({ headers }: ApiResponse): boolean {
  const options = headerValue(headers, "connection");
  return options !== undefined && /(^|,)\s*close\s*(,|$)/i.test(options);
}
