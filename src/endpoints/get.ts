import type { WithInfo } from "../http/filters/request-info.ts";
import type { ApiResponse } from "../http/message.ts";
import type { RegistryContext } from "../registry/context.ts";
import { get } from "../registry/read.ts";
import type { ServedResource } from "../registry/resource.ts";
import type { Freshness } from "../storage/object-store.ts";
import { revisionOf } from "./options.ts";
import { entryResponse } from "./written.ts";

export async function getEndpoint(context: RegistryContext, served: ServedResource, request: WithInfo): Promise<ApiResponse> {
  const { namespace, name } = request.info;
  const freshness = freshnessOf(request.query.get("resourceVersion") ?? "");
  const entry = await get(context, served, { namespace, name, freshness });
  return entryResponse(200, entry, served);
}

export function freshnessOf(resourceVersion: string): Freshness {
  const revision = revisionOf(resourceVersion, "BadRequest");
  if (revision === undefined) return { kind: "newest" };
  return revision === 0 ? { kind: "any" } : { kind: "not-older-than", revision };
}
