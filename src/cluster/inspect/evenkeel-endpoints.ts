/**
 * The endpoints below /evenkeel/v1, which Kubernetes does not have: status, routes, reports about the store, and
 * purging of namespaces.
 */
import type { WithUser } from "../../access/auth/user.ts";
import type { BaseEnv } from "../../base/env.ts";
import type { Client } from "../../client/client.ts";
import type { Catalog } from "../../objects/catalog/catalog.ts";
import type { LocalDocument } from "../../serving/discovery/local-document.ts";
import type { ApiResponse } from "../../serving/http/message.ts";
import type { HistoryStatus } from "../../storage/history-recovery.ts";
import type { Kv } from "../../storage/kv.ts";
import { clusterResources } from "../controllers/merge-cluster-resources.ts";
import { CLUSTER_PATHS, clusterEndpoints } from "../peers/cluster-endpoints.ts";
import type { Peers } from "../peers/peers.ts";
import type { MemberConfig } from "../peers/peer-config.ts";
import type { SharedResources } from "../peers/shared-resources.ts";
import type { ObservedControllers } from "./observed-controllers.ts";
import { INSPECT_PATHS, inspectEndpoints } from "./inspect-endpoints.ts";
import { PURGE_PATH, purgeEndpoint } from "./purge-endpoint.ts";

export const EVENKEEL_PATHS: readonly string[] = [...CLUSTER_PATHS, ...INSPECT_PATHS, PURGE_PATH].sort();

interface EvenkeelEndpointsParts {
  readonly env: BaseEnv;
  readonly config: MemberConfig & { readonly strictRelease: boolean };
  readonly catalog: Catalog;
  readonly client: Client;
  /** Reports read `whole`, the whole store. `fenced` rejects writes while this server is fenced. */
  readonly store: { readonly whole: Kv; readonly fenced: Kv };
  readonly peers: Peers;
  /** The discovery documents of this server: with all its resources, and with the built-in ones only. */
  readonly local: LocalDocument;
  readonly builtIn: LocalDocument;
  readonly shared: SharedResources;
  readonly controllers: ObservedControllers["waits"];
  readonly storeHistory: () => HistoryStatus | undefined;
  /** Whether a server has published storage versions itself; undefined if this server does not use them. */
  readonly publishesStorageVersions: (id: string) => boolean | undefined;
}

export function evenkeelEndpoints(
  parts: EvenkeelEndpointsParts,
): (request: WithUser) => ApiResponse | Promise<ApiResponse> {
  const { env, config, catalog, client, store, peers, local, shared } = parts;
  const cluster = clusterEndpoints(parts);
  const inspect = inspectEndpoints({ env, config, catalog, kv: store.whole });
  // Treats the proxy as on even if it is off: other servers may be live, and this server could not know what they
  // serve.
  const asOneOfMany = { release: config.release, peers: { serverId: config.peers.serverId, isEnabled: true } };
  const resources = clusterResources({ config: asOneOfMany, peers, local, shared });
  const purge = purgeEndpoint({ env, config, kv: store.fenced, client, resources });
  return (request) => purge(request) ?? inspect(request) ?? cluster(request);
}
