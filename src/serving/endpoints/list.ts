/** Serves lists, with selectors, limit, continue and resourceVersion. */
import type { ApiResponse } from "../http/message.ts";
import { badRequest } from "../../meta/status-error.ts";
import { list, type ListRequest } from "../registry/list.ts";
import type { EndpointCall } from "./endpoint.ts";
import { freshnessOf } from "./get.ts";
import {
  invalidOptions,
  listOptionErrors,
  listOptions,
  revisionOf,
  selectorOptions,
  type ListParameters,
} from "./options.ts";
import { chunksResponse } from "./render/respond.ts";

export async function listEndpoint({ context, served, renderer, request }: EndpointCall): Promise<ApiResponse> {
  const selectors = selectorOptions(request.query, served);
  const options = listOptions(request.query);
  const errors = listOptionErrors(options, "list");
  if (errors.length > 0) throw invalidOptions("ListOptions", errors);
  const state = listState(options);
  // A list with resourceVersion=0, which is served from the cache, ignores the limit. Clients of kube-apiserver rely on
  // this.
  const limit = state.kind === "any" || options.limit < 0 ? 0 : options.limit;
  const listed = await list(context, served, { ...selectors, namespace: request.info.namespace, state, limit });
  return chunksResponse(200, renderer.list(listed));
}

function listState(options: ListParameters): ListRequest["state"] {
  const { continueToken, resourceVersion, resourceVersionMatch, limit } = options;
  const revision = revisionOf(resourceVersion, "BadRequest");
  if (continueToken !== "") {
    if (revision !== undefined && revision !== 0)
      throw badRequest("specifying resource version is not allowed when using continue");
    return { kind: "continue", token: continueToken };
  }
  const isExact = resourceVersionMatch === "Exact" || (resourceVersionMatch === "" && limit > 0);
  if (isExact && revision !== undefined && revision !== 0) return { kind: "exact", revision };
  return freshnessOf(resourceVersion);
}
