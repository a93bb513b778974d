/** Serves GET of one object. */
import type { ApiResponse } from "../http/message.ts";
import { get } from "../registry/read.ts";
import type { Freshness } from "../../storage/object-store.ts";
import type { EndpointCall } from "./endpoint.ts";
import { revisionOf } from "./options.ts";
import { chunksResponse } from "./render/respond.ts";

export function getEndpoint({ context, served, renderer, request }: EndpointCall): ApiResponse | Promise<ApiResponse> {
  const { namespace, name } = request.info;
  const freshness = freshnessOf(request.query.get("resourceVersion") ?? "");
  const entry = get(context, served, { namespace, name, freshness });
  if (entry instanceof Promise) return entry.then((found) => chunksResponse(200, renderer.entry(found)));
  return chunksResponse(200, renderer.entry(entry));
}

export function freshnessOf(resourceVersion: string): Freshness {
  const revision = revisionOf(resourceVersion, "BadRequest");
  if (revision === undefined) return { kind: "newest" };
  return revision === 0 ? { kind: "any" } : { kind: "not-older-than", revision };
}
