/** What the registry works with. */
import type { Catalogue } from "../objects/catalogue/catalogue.ts";
import { createNamespaceContent } from "../cluster/inspect/namespace-content.ts";
import type { RegistryContext } from "../serving/registry/context.ts";
import { createAllocators } from "../cluster/allocation/allocators.ts";
import type { Kv } from "../storage/kv.ts";
import { createLeasePool } from "../storage/lease-pool.ts";
import { createObjectStore } from "../storage/object-store.ts";
import type { WatchCache } from "../storage/watch-cache/cache.ts";
import type { ServerConfig } from "./config.ts";
import type { Env } from "./env.ts";
import type { ResourceTable } from "./resources.ts";

export interface ContextParts {
  readonly env: Env;
  readonly config: ServerConfig;
  readonly kv: Kv;
  readonly cache: WatchCache;
  readonly table: ResourceTable;
  readonly catalogue: Catalogue;
}

export function createContext(from: ContextParts): RegistryContext {
  const { env, config, kv, cache, table, catalogue } = from;
  const { clock, random } = env;
  const { storageRoot, serviceClusterIpRange: clusterIpRange, serviceNodePortRange: nodePortRange } = config;
  const store = createObjectStore(kv, cache);
  const addressVersion = catalogue.resource("networking.k8s.io", "ipaddresses")?.versions[0]?.version ?? "";
  const ipAddresses = table.resolve("networking.k8s.io", addressVersion, "ipaddresses")?.served;
  return {
    store,
    leases: createLeasePool(kv, clock),
    clock,
    random,
    namespacePrefix: `${storageRoot}namespaces/`,
    allocators: createAllocators({ store, random, storageRoot, clusterIpRange, nodePortRange, ipAddresses }),
    namespaceContent: createNamespaceContent({ kv, storageRoot }),
  };
}
