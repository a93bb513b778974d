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
    // The request belongs to the chain, so it is extended in place; a copy would cost more.
    return next(Object.assign(request, { info, query }));
  };
}

/** Requests whose duration the client chooses: they have no deadline and do not count as in flight. */
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
