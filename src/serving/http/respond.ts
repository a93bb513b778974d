/** Creates small responses: JSON, text, Status. */
import type { Status, StatusError } from "../../meta/status-error.ts";
import { bytesBody, type ApiResponse, type ResponseHeaders } from "./message.ts";
import { plainMedia } from "./negotiate.ts";

/** The Cache-Control header of every response that depends on the caller or on stored data. */
export const UNCACHED = "no-cache, private";

/** As kubernetes: compact JSON ends with a newline. */
export function jsonResponse(status: number, value: unknown, headers: ResponseHeaders = {}): ApiResponse {
  return jsonBytes(status, [Buffer.from(`${JSON.stringify(value)}\n`)], headers);
}

/** As kubernetes: a few documents that are not API objects are always indented, and end without a newline. */
export function indentedResponse(status: number, value: unknown, headers: ResponseHeaders = {}): ApiResponse {
  return jsonBytes(status, [Buffer.from(JSON.stringify(value, undefined, 2))], headers);
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
  return jsonResponse(error.code, error.toStatus(), errorHeaders(error));
}

/** As kubernetes: the error for a client that accepts no format of the server is indented JSON. */
export function errorResponseFor(accept: string | undefined, error: StatusError): ApiResponse {
  if (plainMedia(accept) !== undefined || accept?.includes("protobuf") === true) return errorResponse(error);
  return indentedResponse(error.code, error.toStatus(), errorHeaders(error));
}

function errorHeaders({ details }: StatusError): ResponseHeaders {
  const retryAfter = details?.retryAfterSeconds;
  return retryAfter === undefined ? {} : { "retry-after": String(retryAfter) };
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
