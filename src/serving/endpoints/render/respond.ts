/** Selects the renderer of a request, and turns rendered objects and errors into responses. */
import type { Clock } from "../../../base/clock.ts";
import type { WithInfo } from "../../http/filters/request-info.ts";
import { errorResponse, UNCACHED } from "../../http/respond.ts";
import { StatusError } from "../../../meta/status-error.ts";
import { headerValue, type ApiResponse, type ResponseHeaders } from "../../http/message.ts";
import type { Written } from "../../registry/context.ts";
import type { ServedResource } from "../../registry/resource.ts";
import { warningHeaders } from "../decode-body.ts";
import { negotiateRepresentation, type ResponseKind, type ProtobufOffer, type Representation } from "./negotiate.ts";
import { partialRenderer } from "./partial.ts";
import { plainRenderer } from "./plain.ts";
import { protobufPartialRenderer, protobufRenderer } from "./protobuf.ts";
import type { Renderer } from "./renderer.ts";
import { parseIncludeObject, tableResponseRenderer } from "./table.ts";
import type { Rendered } from "./wire-format.ts";

export function representationFor(request: WithInfo, offer?: ProtobufOffer): Representation {
  return negotiateRepresentation(headerValue(request.headers, "accept"), responseKindOf(request.info.verb), offer);
}

export function rendererFor(
  representation: Representation,
  served: ServedResource,
  from: { request: WithInfo; clock: Clock },
): Renderer {
  const { form, metaVersion, tables } = representation;
  if (tables !== undefined) {
    const sources = { tables, clock: from.clock };
    if (form === "partial") return protobufPartialRenderer(served, metaVersion, sources);
    return protobufRenderer(served, sources);
  }
  if (form === "object") return plainRenderer(served);
  if (form === "partial") return partialRenderer(served, metaVersion);
  const include = parseIncludeObject(from.request.query.get("includeObject"));
  return tableResponseRenderer(served, { metaVersion, include, showsColumns: true, clock: from.clock });
}

function responseKindOf(verb: string): ResponseKind {
  if (verb === "watch") return "watch";
  return verb === "list" || verb === "deletecollection" ? "list" : "object";
}

export function chunksResponse(status: number, rendered: Rendered, headers?: ResponseHeaders): ApiResponse;
export function chunksResponse(
  status: number,
  rendered: Rendered | Promise<Rendered>,
  headers?: ResponseHeaders,
): ApiResponse | Promise<ApiResponse>;
export function chunksResponse(
  status: number,
  rendered: Rendered | Promise<Rendered>,
  headers?: ResponseHeaders,
): ApiResponse | Promise<ApiResponse> {
  if (rendered instanceof Promise) return rendered.then((made) => chunksResponse(status, made, headers));
  const { format, chunks } = rendered;
  return {
    status,
    headers: { "content-type": format.contentType, "cache-control": UNCACHED, ...headers },
    body: { kind: "bytes", chunks: format.document(chunks) },
  };
}

/** False for internal errors, which the `recover` filter logs and reports. */
export function isClientFacingError(thrown: unknown): thrown is StatusError {
  return thrown instanceof StatusError && (thrown.reason !== "InternalError" || thrown.cause === undefined);
}

/** Returns the error with Warning headers. Throws it if there are no warnings, or if it is an internal error. */
export function errorResponseWithWarnings(thrown: unknown, warnings: readonly string[]): ApiResponse {
  if (warnings.length === 0 || !isClientFacingError(thrown)) throw thrown;
  const response = errorResponse(thrown);
  return { ...response, headers: { ...response.headers, ...warningHeaders(warnings) } };
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
