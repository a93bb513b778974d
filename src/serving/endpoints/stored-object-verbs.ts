/** Selects the endpoint of a verb that reads or writes a stored object. */
import { methodNotAllowed } from "../../meta/status-error.ts";
import type { EndpointResponse, EndpointCall } from "./endpoint.ts";
import { createEndpoint } from "./create.ts";
import { deleteCollectionEndpoint, deleteEndpoint } from "./delete.ts";
import { getEndpoint } from "./get.ts";
import { listEndpoint } from "./list.ts";
import { updateEndpoint } from "./update.ts";
import { watchEndpoint, type WatchDependencies } from "./watch.ts";

export function serveStoredObject(
  dependencies: WatchDependencies,
  call: EndpointCall,
): EndpointResponse | Promise<EndpointResponse> {
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

/**
 * True for a request to the object itself, and for the subresources status and finalize, which the endpoints of the
 * object serve.
 */
export function writesStoredObject(subresource: string): boolean {
  return subresource === "" || subresource === "status" || subresource === "finalize";
}
