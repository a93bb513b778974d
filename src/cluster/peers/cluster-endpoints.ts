/**
 * The endpoints below /evenkeel/v1 that return this server's view of its cluster and explain how it would route a
 * request.
 */
import type { Catalog } from "../../objects/catalog/catalog.ts";
import type { DiscoveryGroup } from "../../serving/discovery/groups.ts";
import type { WithInfo } from "../../serving/http/filters/request-info.ts";
import type { ApiResponse } from "../../serving/http/message.ts";
import { jsonResponse, pageNotFound } from "../../serving/http/respond.ts";
import { badRequest, methodNotAllowed } from "../../meta/status-error.ts";
import type { HistoryStatus } from "../../storage/history-recovery.ts";
import { clusterStatus, type ClusterStatus } from "./cluster-status.ts";
import { explainRoute, type ExplainOptions } from "./explain-route.ts";
import { createUnmetNeed } from "./capabilities.ts";
import type { Peers } from "./peers.ts";
import type { MemberConfig } from "./peer-config.ts";
import type { BaseEnv } from "../../base/env.ts";

export const CLUSTER_PATHS: readonly string[] = ["/evenkeel/v1/route", "/evenkeel/v1/status"];

interface ClusterEndpointsParts {
  readonly env: BaseEnv;
  readonly config: MemberConfig;
  readonly catalog: Catalog;
  readonly peers: Peers;
  readonly builtIn: { readonly groups: readonly DiscoveryGroup[] };
  /** The controllers of the cluster, and the leaders and namespaces for which it waits now. */
  readonly controllers: () => Pick<ClusterStatus, "controllers" | "heldByKubeControllerManager" | "waitingFor">;
  readonly storeHistory: () => HistoryStatus | undefined;
  /** Whether a server has published storage versions itself; undefined if this server does not use them. */
  readonly publishesStorageVersions: (id: string) => boolean | undefined;
}

export function clusterEndpoints(parts: ClusterEndpointsParts): (request: WithInfo) => ApiResponse {
  const { config, catalog, peers } = parts;
  const explaining: ExplainOptions = {
    view: peers.view,
    isProxyEnabled: config.peers.isEnabled,
    isVersionAware: config.isVersionAware,
    unmetNeed: createUnmetNeed(catalog, config.peers.routing),
  };
  return ({ info, query }) => {
    const [, version, name, ...rest] = info.segments;
    const isKnown = version === "v1" && (name === "status" || name === "route") && rest.length === 0;
    if (!isKnown) return pageNotFound();
    if (info.verb !== "get" && info.verb !== "head") throw methodNotAllowed();
    if (name === "status") return jsonResponse(200, statusNow(parts));
    const verb = query.get("verb");
    const path = query.get("path");
    if (verb === undefined || path === undefined) throw badRequest("both verb and path are required");
    const [contentType, compatibilityVersion] = [query.get("contentType"), query.get("compatibilityVersion")];
    return jsonResponse(200, explainRoute(explaining, { verb, path, contentType, compatibilityVersion }));
  };
}

function statusNow(parts: ClusterEndpointsParts): ClusterStatus {
  const { env, config, peers, builtIn, controllers, storeHistory, publishesStorageVersions } = parts;
  const { self, fence } = peers.identity;
  const { binaryVersion, compatibilityVersion, incarnation } = self;
  return clusterStatus({
    view: peers.view(),
    isProxyEnabled: config.peers.isEnabled,
    record: peers.records.endpoint,
    own: { binaryVersion, compatibilityVersion, incarnation },
    fence: fence.reason,
    storeHistory: storeHistory(),
    builtInGroups: builtIn.groups,
    sources: peers.documents.sources(),
    departed: peers.records.departed(),
    liveness: peers.records.liveness(),
    publishesStorageVersions,
    kubernetesService: {
      addresses: peers.records.masterLeases.all().map(({ ip }) => ip),
      ...notPublished(config),
    },
    gone: peers.records.gone(),
    controllers: controllers(),
    nowMs: env.clock.monotonic(),
    wallMs: env.clock.now(),
  });
}

function notPublished({ published }: MemberConfig): { readonly notPublished?: string } {
  if (published === undefined) return { notPublished: "it does not listen" };
  return published.address === undefined ? { notPublished: published.because } : {};
}
