/** Creates small responses: JSON, text, Status. */
import type { Status, StatusError } from "../../meta/status-error.ts";
import { bytesBody, type ApiResponse, type ResponseHeaders } from "./message.ts";

/** The Cache-Control header of every response that depends on the caller or on stored data. */
export const UNCACHED = "no-cache, private";

export function jsonResponse(status: number, value: unknown, headers: ResponseHeaders = {}): ApiResponse {
  return jsonBytes(status, [Buffer.from(JSON.stringify(value))], headers);
}

export function jsonBytes(status: number, chunks: readonly Buffer[], headers: ResponseHeaders = {}): ApiResponse {
  return {
    status,
    headers: { "content-type": "application/json", "cache-control": UNCACHED, ...headers },
    body: { kind: "bytes", chunks },
  };
}

export function textResponse(status: number, text: string, headers: ResponseHeaders = {}): ApiResponse {
  return {
    status,
    headers: {
      "content-type": "text/plain; charset=utf-8",
      "cache-control": UNCACHED,
      "x-content-type-options": "nosniff",
      ...headers,
    },
    body: bytesBody(Buffer.from(text)),
  };
}

export function errorResponse(error: StatusError): ApiResponse {
  const retryAfter = error.details?.retryAfterSeconds;
  return jsonResponse(
    error.code,
    error.toStatus(),
    retryAfter === undefined ? {} : { "retry-after": String(retryAfter) },
  );
}

export function successStatus(details: Status["details"]): Status {
  return {
    kind: "Status",
    apiVersion: "v1",
    metadata: {},
    status: "Success",
    ...(details === undefined ? {} : { details }),
  };
}

/** As kubernetes: a plain text, not a Status. The rejected request has had no effect. */
export function tooManyRequestsText(headers: ResponseHeaders): ApiResponse {
  return textResponse(429, "Too many requests, please try again later.\n", headers);
}

/** The 404 page of a path that belongs to no API. */
export function pageNotFound(): ApiResponse {
  return textResponse(404, "404 page not found\n");
}
