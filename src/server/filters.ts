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
import type { MetricsRegistry } from "../base/metrics.ts";
import type { Catalogue } from "../catalogue/catalogue.ts";
import { deadline } from "../http/filters/deadline.ts";
import { ifReady } from "../http/filters/if-ready.ts";
import { inFlight } from "../http/filters/in-flight.ts";
import { measure } from "../http/filters/measure.ts";
import { recover } from "../http/filters/recover.ts";
import { requestInfo } from "../http/filters/request-info.ts";
import { stripIdentity } from "../http/filters/strip-identity.ts";
import type { ApiRequest, ConnectionInfo } from "../http/message.ts";
import { fence } from "../peers/fence.ts";
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
import type { StorageVersions } from "./storage-versions.ts";

export interface FilterParts {
  readonly env: Env;
  readonly config: ServerConfig;
  readonly metrics: MetricsRegistry;
  readonly table: ResourceTable;
  readonly catalogue: Catalogue;
  readonly lifecycle: Lifecycle;
  readonly cluster: Cluster;
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
  return {
    recover: recover(log),
    stripIdentity: stripIdentity(spoofableHeaders(config.requestHeader)),
    ifReady: ifReady({ mode: config.ifReadyMode, hasBeenReady: () => lifecycle.hasBeenReady }),
    requestInfo: requestInfo(),
    measure: measure({
      metrics,
      clock,
      isKnown: (info) => table.resolve(info.group, info.version, info.resource) !== undefined || isServed(info),
    }),
    deadline: deadline({ clock, requestTimeoutMs }),
    authenticate: authenticate(authenticators(parts)),
    impersonate: impersonate(),
    inFlight: inFlight({ metrics, readsMax, writesMax }),
    authorize: authorize(allowAuthenticated),
    writeGate:
      storageVersions === undefined
        ? (next) => next
        : writeGate({ state: storageVersions.gate, isLoopback, serverId: peers.serverId, metrics }),
    peerProxy: peers.isEnabled
      ? peerProxy({
          view: cluster.view,
          forward: cluster.forward,
          unmetNeed: createUnmetNeed(catalogue, peers.routing),
          catchUp: cluster.catchUp,
        })
      : (next) => next,
    fence: fence({ fence: cluster.identity.fence, isExempt: isLoopback }),
  };
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
