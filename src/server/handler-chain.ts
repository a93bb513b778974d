/** THE list: reading order is the order a request meets the filters. A misordered chain does not compile. */
import type { WithUser } from "../auth/user.ts";
import { chain, type Filter, type Handler, type PassingFilter } from "../http/chain.ts";
import type { WithInfo } from "../http/filters/request-info.ts";
import type { ApiRequest } from "../http/message.ts";

export interface Filters {
  readonly recover: PassingFilter<ApiRequest>;
  readonly ifReady: PassingFilter<ApiRequest>;
  readonly requestInfo: Filter<ApiRequest, WithInfo>;
  readonly measure: PassingFilter<WithInfo>;
  readonly deadline: PassingFilter<WithInfo>;
  readonly authenticate: Filter<WithInfo, WithUser>;
  readonly impersonate: PassingFilter<WithUser>;
  readonly inFlight: PassingFilter<WithInfo>;
  readonly authorize: PassingFilter<WithUser>;
}

export function buildHandler(filters: Filters, route: Handler<WithUser>): Handler<ApiRequest> {
  return chain<ApiRequest>()
    .through(filters.recover)
    .through(filters.ifReady)
    .through(filters.requestInfo)
    .through(filters.measure)
    .through(filters.deadline)
    .through(filters.authenticate)
    .through(filters.impersonate)
    .through(filters.inFlight)
    .through(filters.authorize)
    .to(route);
}
