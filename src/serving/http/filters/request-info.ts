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
    // The request belongs to the chain: adding to it costs nothing, copying it would.
    return next(Object.assign(request, { info, query }));
  };
}

/** Requests without an end of their own: no deadline, not counted as in flight. */
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
