/** The handlers of all paths of a server for a program's own resources. */
import { createCustomOpenApi } from "../../extensions/crd/openapi/custom-open-api.ts";
import { ownGroups } from "../../extensions/library/resource-table.ts";
import { protobufTables } from "../../objects/catalog/protobuf-tables.ts";
import { gatesOf } from "../../objects/catalog/release-gates.ts";
import { releaseInfo } from "../../objects/catalog/release.ts";
import { discoveryHandler } from "../../serving/discovery/handlers.ts";
import { localGroups } from "../../serving/discovery/local.ts";
import { openApiHandler } from "../../serving/discovery/openapi/handlers.ts";
import { healthHandler } from "../../serving/endpoints/health.ts";
import { resourceHandler } from "../../serving/endpoints/resources.ts";
import { versionDocument } from "../../serving/endpoints/version.ts";
import type { Handler } from "../../serving/http/chain.ts";
import { indentedResponse, pageNotFound } from "../../serving/http/respond.ts";
import type { RequestAccess, Stages } from "../assembly.ts";
import type { Foundation } from "../foundation.ts";
import type { Resolved } from "../handler-chain.ts";
import { createRouter } from "../router.ts";
import { watchCounters } from "../../serving/resources/server-metrics.ts";
import type { ServerStore } from "../store.ts";
import type { LibraryCluster, LibraryResources } from "./assembly.ts";

type LibraryStages = Stages<LibraryResources, LibraryCluster, RequestAccess>;

export function createLibraryRoutes(on: Foundation, _store: ServerStore, stages: LibraryStages): Handler<Resolved> {
  const { env, config, metrics, health, open, address } = on;
  const { clock, log } = env;
  const { resources, cluster } = stages;
  const { version, release, peers } = config;
  const groups = localGroups({ groups: ownGroups(resources.own) });
  const { gitVersion } = releaseInfo(version.binary);
  const crds = resources.own.map(({ definition }) => definition);
  const router = createRouter({
    resources: resourceHandler<Resolved>(
      { context: cluster.context, open: open.watches, protobuf: protobufTables, ...watchCounters(metrics) },
      resources.table.resolve,
    ),
    discovery: discoveryHandler({
      self: { id: peers.serverId, release, binaryVersion: gitVersion.replace(/^v/, "") },
      local: () => groups,
      gates: gatesOf(release),
      servesAggregated: true,
      peers: () => "off",
      generation: () => 0,
      mode: "local",
      mergeScope: "all",
      metrics,
      hasUndescribed: () => false,
      serverAddress: () => address.current,
    }),
    openApi: openApiHandler({
      catalog: resources.catalog,
      clock,
      log,
      nextTurn: env.nextTurn,
      serverId: peers.serverId,
      peers: undefined,
      custom: createCustomOpenApi({ generation: 0, definitions: () => crds }),
    }),
    evenkeel: pageNotFound,
    health: healthHandler(health.checks.all, on.lifecycle.reportFailedChecks),
    openId: () => undefined,
    version: versionDocument({ gitVersion, ...version, gates: gatesOf(version.binary) }),
    metrics,
    healthMetrics: health.metrics,
  });
  const paths = { paths: shownPaths(groups) };
  return (request) => {
    const { info } = request;
    // A server for a program's own resources has no core group.
    if (info.apiPrefix === "api") return Promise.resolve(pageNotFound());
    if (info.segments.length === 0) return Promise.resolve(indentedResponse(200, paths));
    // Requests verified by the front-proxy CA come from the main API server, which is not a peer.
    return router({ ...request, isVerifiedPeer: false });
  };
}

const PATHS: readonly string[] = [
  "/apis",
  "/healthz",
  "/livez",
  "/metrics",
  "/metrics/slis",
  "/openapi/v2",
  "/openapi/v3",
  "/readyz",
  "/version",
];

function shownPaths(groups: ReturnType<typeof localGroups>): string[] {
  const ofGroups = groups.flatMap(({ name, versions }) => [
    `/apis/${name}`,
    ...versions.map(({ version }) => `/apis/${name}/${version}`),
  ]);
  return [...PATHS, ...ofGroups].sort();
}
