/** The filters that every server of this project has, each with what it needs. Their order is handler-chain.ts. */
import { recordDecision, type Audit } from "../access/audit/create-audit.ts";
import { authenticate } from "../access/auth/authenticate.ts";
import type { Impersonated } from "../access/auth/impersonation/modes.ts";
import type { WithUser } from "../access/auth/user.ts";
import { authorize, type AccessAttributes, type Authorizer, type CatchUp } from "../access/auth/authorize.ts";
import { impersonate } from "../access/auth/impersonate.ts";
import { spoofableHeaders } from "../access/auth/request-header-options.ts";
import type { Clock } from "../base/clock.ts";
import type { MetricsRegistry } from "../base/metrics.ts";
import { deadline } from "../serving/http/filters/deadline.ts";
import { earlyAnswers } from "../serving/http/filters/early-answers.ts";
import { goaway } from "../serving/http/filters/goaway.ts";
import { ifReady, isExempt, retryAfterStep, type Starting } from "../serving/http/filters/if-ready.ts";
import { measure } from "../serving/http/filters/measure.ts";
import { pretty } from "../serving/http/filters/pretty.ts";
import { recover } from "../serving/http/filters/recover.ts";
import { requestInfo, type WithInfo } from "../serving/http/filters/request-info.ts";
import { shuttingDown } from "../serving/http/filters/shutting-down.ts";
import { webSocket } from "../serving/http/filters/web-socket.ts";
import { stripIdentity } from "../serving/http/filters/strip-identity.ts";
import type { ApiRequest, ApiResponse, ConnectionInfo } from "../serving/http/message.ts";
import type { OpenRequests } from "../serving/http/open-requests.ts";
import type { RequestInfo } from "../serving/http/request-info.ts";
import { gatesOf } from "../objects/catalogue/release-gates.ts";
import { createAuthenticators, type Tokens } from "./authentication.ts";
import type { ServerConfig } from "./config.ts";
import type { Env } from "./env.ts";
import type { FairUse } from "./flow-control.ts";
import type { Filters } from "./handler-chain.ts";
import type { Lifecycle } from "./lifecycle.ts";

export interface RequestFilterParts {
  readonly env: Env;
  readonly config: ServerConfig;
  readonly metrics: MetricsRegistry;
  readonly lifecycle: Lifecycle;
  readonly openRequests: OpenRequests;
  /** The server's own calls come from here. */
  readonly loopback: ConnectionInfo;
  /** Resources that exist, here or elsewhere. */
  readonly isKnown: (info: RequestInfo) => boolean;
  /** An answer that is not to be told from what this server knows: it came from elsewhere. */
  readonly isNotOurs: (request: WithInfo, response: ApiResponse) => boolean;
  readonly tokens: Tokens;
  readonly audit: Audit;
  readonly fairUse: FairUse;
  readonly authorizer: Authorizer;
  /** Before somebody known is refused. Absent: what this server knows is all there is. */
  readonly catchUp?: CatchUp | undefined;
}

/** Without those that lead to other servers, and those that wait for what servers agree on. */
export type RequestFilters = Omit<Filters, "writeGate" | "aggregation" | "peerProxy" | "fence">;

export function requestFilters(parts: RequestFilterParts): RequestFilters {
  const { env, config, metrics, lifecycle, loopback, isKnown, isNotOurs, authorizer, catchUp } = parts;
  const { clock, log } = env;
  const { requestTimeoutMs } = config;
  const starting: Starting = {
    hasBeenReady: () => lifecycle.hasBeenReady,
    retryAfterSeconds: createRetryAfter(lifecycle, clock),
    isLoopback: (request: ApiRequest) => request.connection === loopback,
  };
  const { identify, failedAuthentication, record } = parts.audit;
  return {
    ...{ identify, failedAuthentication, record },
    goaway: goaway({ chance: config.goawayChance, random: env.random }),
    pretty: pretty(),
    ifReady: ifReady({ ...starting, mode: config.ifReadyMode }),
    recover: recover(log),
    stripIdentity: stripIdentity(spoofableHeaders(config.requestHeader)),
    requestInfo: requestInfo(),
    measure: measure({ metrics, clock, isKnown }),
    webSocket: webSocket(clock),
    shuttingDown: shuttingDown({
      isRefusing: () => lifecycle.hasHappened("NotAcceptingNewRequest"),
      sendsRetryAfter: config.shutdown.sendRetryAfter,
      isExempt: (request) => isExempt(request, starting),
      open: parts.openRequests,
    }),
    deadline: deadline({ clock, requestTimeoutMs }),
    authenticate: authenticate(createAuthenticators(parts), { refusesStrangers: !config.access.anonymousAuth }),
    earlyAnswers: earlyAnswers({ ...starting, isNotOurs }),
    impersonate: impersonate({
      authorizer,
      catchUp,
      isConstrained: gatesOf(config.release).isOn("ConstrainedImpersonation"),
      onImpersonated,
    }),
    inFlight: parts.fairUse.filter,
    authorize: authorize(healthWhileStarting(authorizer, parts), { catchUp, onDecision: recordDecision }),
  };
}

/** As the role system:public-info-viewer says in every new cluster. */
const HEALTH: ReadonlySet<string> = new Set(["/healthz", "/livez", "/readyz"]);

/**
 * DIFFERS: kube-apiserver refuses strangers' probes until it has read its roles. A server whose store is out of reach
 * would look dead, and be restarted for nothing.
 */
function healthWhileStarting(authorizer: Authorizer, { config, lifecycle }: RequestFilterParts): Authorizer {
  if (!config.access.authorizationModes.includes("RBAC")) return authorizer;
  const isOpen = ({ isResourceRequest, verb, path }: AccessAttributes): boolean =>
    !lifecycle.hasBeenReady && !isResourceRequest && verb === "get" && HEALTH.has(path);
  return (user, asked) => (isOpen(asked) ? { allowed: true, reason: "" } : authorizer(user, asked));
}

/** By how long start-up has been in the step it is in. */
function createRetryAfter(lifecycle: Lifecycle, clock: Clock): () => number {
  let stepSinceMs = clock.monotonic();
  lifecycle.onStep(() => {
    stepSinceMs = clock.monotonic();
  });
  return () => retryAfterStep(clock.monotonic() - stepSinceMs);
}

function onImpersonated({ audit }: WithUser, { user, constraint }: Impersonated): void {
  audit?.impersonated(user, constraint);
}
