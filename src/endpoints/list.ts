import type { WithInfo } from "../http/filters/request-info.ts";
import type { ApiResponse } from "../http/message.ts";
import { jsonBytes } from "../http/respond.ts";
import { badRequest } from "../meta/status-error.ts";
import type { RegistryContext } from "../registry/context.ts";
import { list, type Listed, type ListRequest } from "../registry/list.ts";
import { itemIn } from "../registry/representation.ts";
import type { ServedResource } from "../registry/resource.ts";
import { freshnessOf } from "./get.ts";
import { invalidOptions, listOptionErrors, listOptions, revisionOf, selectorOptions, type ListOptions } from "./options.ts";

const TAIL = Buffer.from("]}\n");

export async function listEndpoint(context: RegistryContext, served: ServedResource, request: WithInfo): Promise<ApiResponse> {
  const selectors = selectorOptions(request.query, served);
  const options = listOptions(request.query);
  const errors = listOptionErrors(options, "list");
  if (errors.length > 0) throw invalidOptions("ListOptions", errors);
  const state = listState(options);
  // A list from the cache ("0") ignores the limit, as clients of kube-apiserver have learnt to rely on.
  const limit = state.kind === "any" || options.limit < 0 ? 0 : options.limit;
  const listed = await list(context, served, { ...selectors, namespace: request.info.namespace, state, limit });
  return jsonBytes(200, listChunks(listed, served));
}

function listState(options: ListOptions): ListRequest["state"] {
  const { continueToken, resourceVersion, resourceVersionMatch, limit } = options;
  const revision = revisionOf(resourceVersion, "BadRequest");
  if (continueToken !== "") {
    if (revision !== undefined && revision !== 0) throw badRequest("specifying resource version is not allowed when using continue");
    return { kind: "continue", token: continueToken };
  }
  const isExact = resourceVersionMatch === "Exact" || (resourceVersionMatch === "" && limit > 0);
  if (isExact && revision !== undefined && revision !== 0) return { kind: "exact", revision };
  return freshnessOf(resourceVersion);
}

/** The items are the cache's own buffers; only what stands around them is made here. */
export function listChunks(listed: Listed, served: ServedResource): Buffer[] {
  const metadata = {
    resourceVersion: String(listed.revision),
    ...(listed.continueToken === undefined ? {} : { continue: listed.continueToken }),
    ...(listed.remainingItemCount === undefined ? {} : { remainingItemCount: listed.remainingItemCount }),
  };
  const head = `{"kind":${JSON.stringify(served.listKind)},"apiVersion":${JSON.stringify(served.apiVersion)},"metadata":${JSON.stringify(metadata)},"items":[`;
  const chunks: Buffer[] = [Buffer.from(head)];
  for (const entry of listed.entries) {
    const item = itemIn(entry, served);
    chunks.push(chunks.length === 1 ? item.subarray(1) : item);
  }
  chunks.push(TAIL);
  return chunks;
}
