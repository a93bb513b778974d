/**
 * The handler chain: all filters in the order in which a request passes them. The types of the filters make a wrong
 * order a compile error.
 */
import type { WithUser } from "../access/auth/user.ts";
import type { WithEndpoint } from "../serving/endpoints/resolve-or-not-found.ts";
import { chain, type Filter, type Handler, type PassingFilter } from "../serving/http/chain.ts";
import type { WithInfo } from "../serving/http/filters/request-info.ts";
import type { WithClaims } from "../serving/http/filters/strip-identity.ts";
import type { ApiRequest } from "../serving/http/message.ts";

/** The input of the routes: an authorized request and the endpoint that serves it. */
export type Resolved = WithUser & WithEndpoint;

export interface Filters {
  readonly identify: PassingFilter<ApiRequest>;
  readonly strictTransportSecurity: PassingFilter<ApiRequest>;
  readonly goaway: PassingFilter<ApiRequest>;
  readonly pretty: PassingFilter<ApiRequest>;
  readonly ifReady: PassingFilter<ApiRequest>;
  readonly recover: PassingFilter<ApiRequest>;
  readonly stripIdentity: Filter<ApiRequest, WithClaims>;
  readonly requestInfo: Filter<WithClaims, WithInfo>;
  readonly measure: PassingFilter<WithInfo>;
  readonly webSocket: PassingFilter<WithInfo>;
  readonly shuttingDown: PassingFilter<WithInfo>;
  readonly deadline: PassingFilter<WithInfo>;
  readonly failedAuthentication: PassingFilter<WithInfo>;
  readonly authenticate: Filter<WithInfo, WithUser>;
  readonly record: PassingFilter<WithUser>;
  readonly notReadyResponses: PassingFilter<WithUser>;
  readonly impersonate: PassingFilter<WithUser>;
  readonly inFlight: PassingFilter<WithUser>;
  readonly authorize: PassingFilter<WithUser>;
  readonly aggregation: PassingFilter<WithUser>;
  readonly writeGate: PassingFilter<WithInfo>;
  readonly resolve: Filter<WithUser, Resolved>;
  readonly fence: PassingFilter<WithInfo>;
}

export function buildHandler(filters: Filters, route: Handler<Resolved>): Handler<ApiRequest> {
  return chain<ApiRequest>()
    .through(filters.identify)
    .through(filters.strictTransportSecurity)
    .through(filters.goaway)
    .through(filters.pretty)
    .through(filters.ifReady)
    .through(filters.recover)
    .through(filters.stripIdentity)
    .through(filters.requestInfo)
    .through(filters.measure)
    .through(filters.webSocket)
    .through(filters.shuttingDown)
    .through(filters.deadline)
    .through(filters.failedAuthentication)
    .through(filters.authenticate)
    .through(filters.record)
    .through(filters.notReadyResponses)
    .through(filters.impersonate)
    .through(filters.inFlight)
    .through(filters.authorize)
    .through(filters.aggregation)
    .through(filters.writeGate)
    .through(filters.resolve)
    .through(filters.fence)
    .to(route);
}
