/**
 * Creates the context in which the verbs of a server of a Kubernetes release work: the object store, the leases and the
 * allocators.
 */
import { createAllocators, type Allocators } from "../../cluster/allocation/allocators.ts";
import { allocateForServices } from "../../cluster/allocation/service-allocation.ts";
import { createNamespaceContent } from "../../cluster/inspect/namespace-content.ts";
import type { Peers } from "../../cluster/peers/peers.ts";
import { gatesOf } from "../../objects/catalog/release-gates.ts";
import type { RegistryContext } from "../../serving/registry/context.ts";
import type { Kv } from "../../storage/kv.ts";
import { createLeasePool } from "../../storage/lease-pool.ts";
import { createObjectStore } from "../../storage/object-store.ts";
import type { WatchCache } from "../../storage/watch-cache/cache.ts";
import type { Foundation } from "../foundation.ts";
import { liveNumberRecords } from "./live-number-records.ts";
import type { KubernetesResources } from "./resources.ts";

interface KubernetesRegistry {
  readonly context: RegistryContext;
  readonly allocators: Allocators;
}

export function createRegistry(
  { env, config }: Foundation,
  { kv, cache }: { readonly kv: Kv; readonly cache: WatchCache },
  { catalog, table }: KubernetesResources,
  peers: Peers,
): KubernetesRegistry {
  const { clock, random } = env;
  const { storageRoot, serviceClusterIpRanges: clusterIpRanges, serviceNodePortRange: nodePortRange } = config;
  const store = createObjectStore(kv, cache);
  const addressVersion = catalog.resource("networking.k8s.io", "ipaddresses")?.versions[0]?.version ?? "";
  const ipAddresses = table.resolve("networking.k8s.io", addressVersion, "ipaddresses")?.served;
  const allocators = createAllocators({
    store,
    clock,
    random,
    storageRoot,
    clusterIpRanges,
    nodePortRange,
    ipAddresses,
    usesServiceCidrs: gatesOf(config.release).isOn("MultiCIDRServiceAllocator"),
    liveRecords: () => liveNumberRecords(config.release, peers),
  });
  const context: RegistryContext = {
    store,
    leases: createLeasePool(kv, clock, cache.epoch),
    clock,
    random,
    namespacePrefix: `${storageRoot}namespaces/`,
    allocation: allocateForServices(allocators),
    ipFamilies: clusterIpRanges.map(({ family }) => family),
    namespaceContent: createNamespaceContent({ kv, storageRoot }),
    allowsUnsafeDeletion: config.allowsUnsafeDeletion,
    forbidsPrivileged: !config.allowPrivileged,
    watchTimeoutMsMin: config.minRequestTimeoutMs,
  };
  return { context, allocators };
}
