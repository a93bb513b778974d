/**
 * Determines the audit ID of a request: the ID in the Audit-ID header, which the client or the proxying peer sends.
 * Pure.
 */
import type { ApiRequest } from "../../serving/http/message.ts";

const HEADER = "audit-id";

/** As kubernetes: the first Audit-ID header counts, unchanged. Undefined if there is none or it is empty. */
export function requestAuditId({
  headers,
  rawHeaders,
}: Pick<ApiRequest, "headers" | "rawHeaders">): string | undefined {
  const value = headers[HEADER];
  if (value === undefined) return undefined;
  const first = Array.isArray(value) ? value[0] : value.includes(",") ? (firstLine(rawHeaders) ?? value) : value;
  return first === "" ? undefined : first;
}

/** Reads the raw headers, because the parsed headers join repeated headers with commas. */
function firstLine(rawHeaders: readonly string[] = []): string | undefined {
  for (let index = 0; index + 1 < rawHeaders.length; index += 2)
    if (rawHeaders[index]!.toLowerCase() === HEADER) return rawHeaders[index + 1];
  return undefined;
}
