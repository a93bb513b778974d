/** Creates every filter of the chain with its dependencies. handler-chain.ts defines their order. */
import { recordDecision, type Audit } from "../access/audit/create-audit.ts";
import { authenticate } from "../access/auth/authenticate.ts";
import { authorize, type AccessAttributes, type Authorizer } from "../access/auth/authorize.ts";
import { createAuthentication } from "../access/auth/create-authenticators.ts";
import { impersonate } from "../access/auth/impersonate.ts";
import type { Impersonated } from "../access/auth/impersonation/modes.ts";
import { spoofableHeaders } from "../access/auth/request-header-options.ts";
import type { WithUser } from "../access/auth/user.ts";
import { gatesOf } from "../objects/catalog/release-gates.ts";
import { deadline } from "../serving/http/filters/deadline.ts";
import { notReadyResponses } from "../serving/http/filters/not-ready-responses.ts";
import { goaway } from "../serving/http/filters/goaway.ts";
import { ifReady, isExempt, type Starting } from "../serving/http/filters/if-ready.ts";
import { measure } from "../serving/http/filters/measure.ts";
import { pretty } from "../serving/http/filters/pretty.ts";
import { recover } from "../serving/http/filters/recover.ts";
import { requestInfo } from "../serving/http/filters/request-info.ts";
import { shuttingDown } from "../serving/http/filters/shutting-down.ts";
import { strictTransportSecurity } from "../serving/http/filters/strict-transport-security.ts";
import { stripIdentity } from "../serving/http/filters/strip-identity.ts";
import { webSocket } from "../serving/http/filters/web-socket.ts";
import type { Cluster, RequestAccess, Resources } from "./assembly.ts";
import type { Foundation } from "./foundation.ts";
import type { Filters } from "./handler-chain.ts";
import { isIndependentOfServed } from "./independent-responses.ts";

interface FilterParts {
  readonly audit: Audit;
  readonly resources: Resources;
  readonly cluster: Cluster;
  readonly access: RequestAccess;
}

export function createFilters(on: Foundation, { audit, resources, cluster, access }: FilterParts): Filters {
  const { env, config, metrics, lifecycle, loopback, open } = on;
  const { clock, log } = env;
  const { authorizer, catchUp } = access;
  const { resolve } = resources.table;
  const starting: Starting = {
    hasBeenReady: () => lifecycle.hasBeenReady,
    retryAfterSeconds: lifecycle.retryAfter(clock),
    isLoopback: loopback.isLoopback,
  };
  const { tokens } = access;
  const authentication = createAuthentication({ env, config, tokens, loopback: loopback.connection });
  return {
    identify: audit.identify,
    strictTransportSecurity: strictTransportSecurity(config.strictTransportSecurity),
    goaway: goaway({ chance: config.goawayChance, random: env.random }),
    pretty: pretty(),
    ifReady: ifReady({ ...starting, mode: config.ifReadyMode }),
    recover: recover(log),
    stripIdentity: stripIdentity(spoofableHeaders(config.requestHeader)),
    requestInfo: requestInfo(),
    measure: measure({
      metrics,
      clock,
      isKnown: (info) => resolve(info.group, info.version, info.resource) !== undefined || cluster.isServedByPeer(info),
    }),
    webSocket: webSocket(clock),
    shuttingDown: shuttingDown({
      isRejecting: () => lifecycle.hasHappened("NotAcceptingNewRequest"),
      sendsRetryAfter: config.shutdown.sendRetryAfter,
      isExempt: (request) => isExempt(request, starting),
      open: open.requests,
    }),
    deadline: deadline({ clock, requestTimeoutMs: config.requestTimeoutMs }),
    failedAuthentication: audit.failedAuthentication,
    authenticate: authenticate(authentication.authenticators, {
      rejectsAnonymousUsers: !config.access.anonymousAuth,
      onRejected: authentication.onRejected,
    }),
    record: audit.record,
    notReadyResponses: notReadyResponses({ ...starting, isFromAnotherServer: isIndependentOfServed }),
    impersonate: impersonate({
      authorizer,
      catchUp,
      isConstrained: gatesOf(config.release).isOn("ConstrainedImpersonation"),
      onImpersonated,
    }),
    inFlight: access.flowControl.filter,
    authorize: authorize(healthWhileStarting(authorizer, on), { catchUp, onDecision: recordDecision }),
    ...cluster.filters,
  };
}

/** Health paths, which the role system:public-info-viewer allows in every new cluster. */
const HEALTH: ReadonlySet<string> = new Set(["/healthz", "/livez", "/readyz"]);

/**
 * Lets every user, including the anonymous one, read the health paths until the server has been ready once. DIFFERS:
 * kube-apiserver denies anonymous probes until it has loaded its roles. A server whose store is unreachable would then
 * fail its liveness probe and be restarted without need.
 */
function healthWhileStarting(authorizer: Authorizer, { config, lifecycle }: Foundation): Authorizer {
  if (!config.access.authorizationModes.includes("RBAC")) return authorizer;
  const isOpen = ({ isResourceRequest, verb, path }: AccessAttributes): boolean =>
    !lifecycle.hasBeenReady && !isResourceRequest && verb === "get" && HEALTH.has(path);
  return (user, asked) => (isOpen(asked) ? { allowed: true, reason: "" } : authorizer(user, asked));
}

function onImpersonated({ audit }: WithUser, { user, constraint }: Impersonated): void {
  audit?.impersonated(user, constraint);
}
