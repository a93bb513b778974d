/** The verbs that read or write a stored object. */
import { methodNotAllowed } from "../../meta/status-error.ts";
import type { EndpointResponse, EndpointCall } from "./endpoint.ts";
import { createEndpoint } from "./create.ts";
import { deleteCollectionEndpoint, deleteEndpoint } from "./delete.ts";
import { getEndpoint } from "./get.ts";
import { listEndpoint } from "./list.ts";
import { updateEndpoint } from "./update.ts";
import { watchEndpoint, type WatchDependencies } from "./watch.ts";

export function serveStoredObject(dependencies: WatchDependencies, call: EndpointCall): Promise<EndpointResponse> {
  switch (call.request.info.verb) {
    case "get":
      return getEndpoint(call);
    case "list":
      return listEndpoint(call);
    case "watch":
      return watchEndpoint(dependencies, call);
    case "create":
      return createEndpoint(call);
    case "update":
    case "patch":
      return updateEndpoint(call);
    case "delete":
      return deleteEndpoint(call);
    case "deletecollection":
      return deleteCollectionEndpoint(call);
    default:
      throw methodNotAllowed();
  }
}

/** Subresources that read or write the stored object itself. */
export function writesStoredObject(subresource: string): boolean {
  return subresource === "" || subresource === "status" || subresource === "finalize";
}
