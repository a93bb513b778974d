/** The filter that adds the request info (verb, resource, namespace, name) and the decoded query to a request. */
import { badRequest } from "../../../meta/status-error.ts";
import type { Filter } from "../chain.ts";
import { Query } from "../query.ts";
import { parseRequestInfo, type RequestInfo } from "../request-info.ts";
import type { WithClaims } from "./strip-identity.ts";

export interface WithInfo extends WithClaims {
  readonly info: RequestInfo;
  readonly query: Query;
}

export function requestInfo(): Filter<WithClaims, WithInfo> {
  return (next) => (request) => {
    const query = new Query(request.rawQuery);
    const info = parseRequestInfo(request.method, request.path, query);
    if (info === undefined) return Promise.reject(badRequest("the path of the request cannot be decoded"));
    // The request is extended in place, because only the chain uses it and a copy would cost more.
    return next(Object.assign(request, { info, query }));
  };
}

/** True for requests whose duration the client chooses. They have no deadline and are not limited by inFlight. */
export function isLongRunning({ verb, subresource }: RequestInfo): boolean {
  return (
    verb === "watch" ||
    subresource === "proxy" ||
    subresource === "exec" ||
    subresource === "attach" ||
    subresource === "portforward" ||
    subresource === "log"
  );
}
