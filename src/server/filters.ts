/** The filters of the request line, each with what it needs. Their order is handler-chain.ts. */
import { authenticate, type Authenticator } from "../auth/authenticate.ts";
import { loopbackAuthenticator } from "../auth/authenticators/loopback.ts";
import { requestHeaderAuthenticator } from "../auth/authenticators/request-header.ts";
import { tokenFileAuthenticator } from "../auth/authenticators/token-file.ts";
import { x509Authenticator } from "../auth/authenticators/x509.ts";
import { allowAuthenticated, authorize } from "../auth/authorize.ts";
import { createCertificateVerifier } from "../auth/client-certificates.ts";
import { impersonate } from "../auth/impersonate.ts";
import { spoofableHeaders } from "../auth/request-header-options.ts";
import type { Clock } from "../base/clock.ts";
import type { MetricsRegistry } from "../base/metrics.ts";
import type { Catalogue } from "../catalogue/catalogue.ts";
import { deadline } from "../http/filters/deadline.ts";
import { earlyAnswers } from "../http/filters/early-answers.ts";
import { goaway } from "../http/filters/goaway.ts";
import { ifReady, isExempt, retryAfterStep, type Starting } from "../http/filters/if-ready.ts";
import { inFlight } from "../http/filters/in-flight.ts";
import { measure } from "../http/filters/measure.ts";
import { recover } from "../http/filters/recover.ts";
import { requestInfo, type WithInfo } from "../http/filters/request-info.ts";
import { shuttingDown } from "../http/filters/shutting-down.ts";
import { stripIdentity } from "../http/filters/strip-identity.ts";
import type { ApiRequest, ApiResponse, ConnectionInfo } from "../http/message.ts";
import type { OpenRequests } from "../http/open-requests.ts";
import { fence } from "../peers/fence.ts";
import { NOT_SERVED_HEADER, SERVED_BY_HEADER } from "../peers/hop.ts";
import { peerProxy } from "../peers/peer-proxy.ts";
import type { ResourceQuestion } from "../peers/view.ts";
import { createUnmetNeed } from "./capabilities.ts";
import type { Cluster } from "./cluster.ts";
import type { ServerConfig } from "./config.ts";
import type { Env } from "./env.ts";
import type { Filters } from "./handler-chain.ts";
import type { Lifecycle } from "./lifecycle.ts";
import type { ResourceTable } from "./resources.ts";
import { writeGate } from "../storageversion/write-gate.ts";
import type { Shared } from "./shared-resources.ts";
import type { StorageVersions } from "./storage-versions.ts";

export interface FilterParts {
  readonly env: Env;
  readonly config: ServerConfig;
  readonly metrics: MetricsRegistry;
  readonly table: Pick<ResourceTable, "resolve">;
  readonly catalogue: Catalogue;
  readonly lifecycle: Lifecycle;
  readonly openRequests: OpenRequests;
  readonly cluster: Cluster;
  readonly shared: Shared;
  readonly storageVersions: StorageVersions | undefined;
  /** The server's own calls come from here. */
  readonly loopback: ConnectionInfo;
}

export function createFilters(parts: FilterParts): Filters {
  const { env, config, metrics, table, catalogue, lifecycle, cluster, storageVersions, loopback } = parts;
  const { clock, log } = env;
  const { requestTimeoutMs, maxRequestsInflight: readsMax, maxMutatingRequestsInflight: writesMax, peers } = config;
  const isLoopback = (request: ApiRequest): boolean => request.connection === loopback;
  const isServed = (asked: ResourceQuestion): boolean =>
    cluster.view().peers.some(({ document }) => document?.served.has(asked));
  const starting: Starting = {
    hasBeenReady: () => lifecycle.hasBeenReady,
    retryAfterSeconds: createRetryAfter(lifecycle, clock),
    isLoopback,
  };
  return {
    goaway: goaway({ chance: config.goawayChance, random: env.random }),
    ifReady: ifReady({ ...starting, mode: config.ifReadyMode }),
    recover: recover(log),
    stripIdentity: stripIdentity(spoofableHeaders(config.requestHeader)),
    requestInfo: requestInfo(),
    measure: measure({
      metrics,
      clock,
      isKnown: (info) => table.resolve(info.group, info.version, info.resource) !== undefined || isServed(info),
    }),
    shuttingDown: shuttingDown({
      isRefusing: () => lifecycle.hasHappened("NotAcceptingNewRequest"),
      sendsRetryAfter: config.shutdown.sendRetryAfter,
      isExempt: (request) => isExempt(request, starting),
      open: parts.openRequests,
    }),
    deadline: deadline({ clock, requestTimeoutMs }),
    authenticate: authenticate(authenticators(parts)),
    earlyAnswers: earlyAnswers({ ...starting, isNotOurs }),
    impersonate: impersonate(),
    inFlight: inFlight({ metrics, readsMax, writesMax }),
    authorize: authorize(allowAuthenticated),
    aggregation: parts.shared.filter,
    writeGate:
      storageVersions === undefined
        ? (next) => next
        : writeGate({ state: storageVersions.gate, isLoopback, serverId: peers.serverId, metrics }),
    peerProxy: peers.isEnabled
      ? peerProxy({
          view: cluster.view,
          forward: cluster.forward,
          unmetNeed: createUnmetNeed(catalogue, peers.routing),
          isVersionAware: config.isVersionAware,
          catchUp: cluster.catchUp,
        })
      : (next) => next,
    fence: fence({ fence: cluster.identity.fence, isExempt: isLoopback }),
  };
}

/** By how long start-up has been in the step it is in. */
function createRetryAfter(lifecycle: Lifecycle, clock: Clock): () => number {
  let stepSinceMs = clock.monotonic();
  lifecycle.onStep(() => {
    stepSinceMs = clock.monotonic();
  });
  return () => retryAfterStep(clock.monotonic() - stepSinceMs);
}

/** What servers tell each other, and what a pod says that a peer has reached. */
function isNotOurs({ info }: WithInfo, { headers }: ApiResponse): boolean {
  if (headers[NOT_SERVED_HEADER] !== undefined) return true;
  return info.subresource === "proxy" && headers[SERVED_BY_HEADER] !== undefined;
}

/** The order is kube-apiserver's: the first that knows the caller decides who it is. */
function authenticators({ env, config, loopback }: FilterParts): Authenticator[] {
  const { clock } = env;
  const { clientCa, requestHeader, users } = config;
  return [
    loopbackAuthenticator(loopback),
    ...(requestHeader === undefined ? [] : [requestHeaderAuthenticator(requestHeader, clock)]),
    ...(clientCa === undefined ? [] : [x509Authenticator({ verify: createCertificateVerifier(clientCa), clock })]),
    tokenFileAuthenticator(users),
  ];
}
