import type { Clock } from "../../base/clock.ts";
import type { WithInfo } from "../../http/filters/request-info.ts";
import { headerValue, type ApiResponse, type ResponseHeaders } from "../../http/message.ts";
import { jsonBytes } from "../../http/respond.ts";
import type { Written } from "../../registry/context.ts";
import type { ServedResource } from "../../registry/resource.ts";
import { warningHeaders } from "../decode-body.ts";
import { negotiateRepresentation, type AnswerKind, type Representation } from "./negotiate.ts";
import { partialRenderer } from "./partial.ts";
import { plainRenderer } from "./plain.ts";
import type { Renderer } from "./renderer.ts";
import { parseIncludeObject, tableRenderer } from "./table.ts";

const NEWLINE = Buffer.from("\n");

export function representationFor(request: WithInfo): Representation {
  return negotiateRepresentation(headerValue(request.headers, "accept"), answerKind(request.info.verb));
}

export function rendererFor(
  representation: Representation,
  served: ServedResource,
  from: { request: WithInfo; clock: Clock },
): Renderer {
  const { form, metaVersion } = representation;
  if (form === "object") return plainRenderer(served);
  if (form === "partial") return partialRenderer(served, metaVersion);
  const include = parseIncludeObject(from.request.query.get("includeObject"));
  return tableRenderer(served, { metaVersion, include, showsColumns: true, clock: from.clock });
}

function answerKind(verb: string): AnswerKind {
  if (verb === "watch") return "watch";
  return verb === "list" || verb === "deletecollection" ? "list" : "object";
}

export function chunksResponse(status: number, chunks: readonly Buffer[], headers?: ResponseHeaders): ApiResponse {
  return jsonBytes(status, [...chunks, NEWLINE], headers);
}

export function writtenResponse(
  status: number,
  written: Written,
  renderer: Renderer,
  warnings: readonly string[] = [],
): ApiResponse {
  return chunksResponse(
    status,
    "entry" in written ? renderer.entry(written.entry) : renderer.object(written.object),
    warningHeaders([...warnings, ...(written.warnings ?? [])]),
  );
}
