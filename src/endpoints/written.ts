/** Objects on their way out, as bytes. */
import { jsonBytes } from "../http/respond.ts";
import type { ApiResponse, ResponseHeaders } from "../http/message.ts";
import type { Written } from "../registry/context.ts";
import { membersIn } from "../registry/representation.ts";
import type { ServedResource } from "../registry/resource.ts";
import type { Entry } from "../storage/watch-cache/entry.ts";

const NEWLINE = Buffer.from("\n");

export function entryResponse(status: number, entry: Entry, served: ServedResource, headers?: ResponseHeaders): ApiResponse {
  return jsonBytes(status, [served.objectHead, membersIn(entry, served), NEWLINE], headers);
}

export function writtenResponse(status: number, written: Written, served: ServedResource, headers?: ResponseHeaders): ApiResponse {
  if ("entry" in written) return entryResponse(status, written.entry, served, headers);
  return jsonBytes(status, [Buffer.from(`${JSON.stringify(written.object)}\n`)], headers);
}
