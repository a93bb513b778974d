/** By which ID a request is known: that of its client, or of the server that handed it on. Pure. */
import type { ApiRequest } from "../../serving/http/message.ts";

const HEADER = "audit-id";

/** As kubernetes: taken as it is, the first of several. Undefined when there is none. */
export function requestAuditId({
  headers,
  rawHeaders,
}: Pick<ApiRequest, "headers" | "rawHeaders">): string | undefined {
  const value = headers[HEADER];
  if (value === undefined) return undefined;
  const first = Array.isArray(value) ? value[0] : value.includes(",") ? (firstLine(rawHeaders) ?? value) : value;
  return first === "" ? undefined : first;
}

/** Headers that were sent several times are joined elsewhere. */
function firstLine(rawHeaders: readonly string[] = []): string | undefined {
  for (let index = 0; index + 1 < rawHeaders.length; index += 2)
    if (rawHeaders[index]!.toLowerCase() === HEADER) return rawHeaders[index + 1];
  return undefined;
}
