/** The stage `running` of a server of a Kubernetes release: its start-up hooks, in order, and its background tasks. */
import { waitUntil } from "../../base/background.ts";
import { HOOK_PREFIX, runBefore, type StartupHook } from "../../base/startup-hook.ts";
import { createRepairEvents } from "../../cluster/allocation/repair-events.ts";
import { createServiceRepair } from "../../cluster/allocation/repair-task.ts";
import { bootstrapHooks, ensureIdentityNamespace } from "../../cluster/bootstrap/hooks.ts";
import { trustOf, trustPublisher } from "../../cluster/bootstrap/extension-apiserver-authentication.ts";
import { servedVersions } from "../../cluster/bootstrap/served-version.ts";
import { keepServiceCidr } from "../../cluster/bootstrap/service-cidr.ts";
import { followCorruptValues } from "../../cluster/inspect/corrupt-values.ts";
import { gatesOf } from "../../objects/catalog/release-gates.ts";
import { crdController } from "../../extensions/crd/crd-controller-task.ts";
import { endOutdatedWatches } from "../../extensions/crd/serving/connect-crds.ts";
import type { HooksAndTasks, Stages } from "../assembly.ts";
import type { Foundation } from "../foundation.ts";
import type { ServerStore } from "../store.ts";
import type { KubernetesAccess } from "./assembly.ts";
import type { KubernetesCluster } from "./cluster.ts";
import { portOf } from "./kubernetes-endpoints.ts";
import type { KubernetesResources } from "./resources.ts";

type KubernetesStages = Stages<KubernetesResources, KubernetesCluster, KubernetesAccess>;

export function createHooksAndTasks(on: Foundation, store: ServerStore, stages: KubernetesStages): HooksAndTasks {
  const { env, config, loopback } = on;
  const { clock, log } = env;
  const { resources, cluster, access } = stages;
  const { catalog, custom } = resources;
  const { context, allocators } = cluster;
  endOutdatedWatches(custom.table, on.open.watches);
  const instance = config.peers.serverId;
  const events = createRepairEvents({ call: loopback.callAsServer, clock, log, instance });
  const repair = createServiceRepair({ store: context.store, allocators, clock, log, events });
  return {
    hooks: [
      ...loadingHooks(on, store, resources),
      // A server publishes its StorageVersions only after it has an identity lease, and makes all other writes only
      // after it has published.
      ...runBefore(beforeIdentityLease(on, stages), cluster.peers.identity.hooks),
      ...(cluster.storageVersions === undefined ? [] : [cluster.storageVersions.hook]),
      repair.hook,
      {
        name: "rbac/roles-synced",
        run: (signal) => waitUntil(clock, () => access.access.authorization.isLoaded(), signal),
      },
      ...bootstrap(on, stages),
      ...cluster.peers.membership.hooks,
      ...cluster.aggregated.hooks,
    ],
    tasks: [
      custom.task,
      ...cluster.aggregated.tasks,
      ...access.access.tasks,
      crdController({ env, config, loopback, kv: cluster.kv, context, custom }),
      ...cluster.peers.membership.tasks,
      ...(cluster.storageVersions?.tasks ?? []),
      followCorruptValues({ env, config, cache: store.cache, metrics: on.metrics }),
      ...cluster.observed.tasks,
      ...cluster.leadership.tasks,
      ...(cluster.endpoints === undefined ? [] : [cluster.endpoints.task]),
      repair.task,
      ...keepServiceCidr({
        call: loopback.callAsServer,
        clock,
        log,
        serves: servedVersions(catalog),
        cidrs: serviceCidrs(config),
        cache: store.cache,
        storageRoot: config.storageRoot,
      }),
      trustPublisher({ env, config, catalog }, loopback.callAsServer),
    ],
    checks: () => cluster.controllers.flatMap((manager) => manager.checks()),
  };
}

/** A server needs the namespace of its identity lease, and a record without which the lease would prove nothing. */
function beforeIdentityLease(
  { env, loopback }: Foundation,
  { resources, cluster }: KubernetesStages,
): (signal: AbortSignal) => Promise<void> {
  const { clock, log } = env;
  const ensureNamespace = ensureIdentityNamespace({
    call: loopback.callAsServer,
    clock,
    log,
    catalog: resources.catalog,
  });
  return async (signal) => {
    await cluster.peers.membership.appear(signal);
    await ensureNamespace(signal);
  };
}

function loadingHooks({ env }: Foundation, { cache }: ServerStore, { custom }: KubernetesResources): StartupHook[] {
  const { clock } = env;
  return [
    {
      name: "storage-readiness",
      also: [`${HOOK_PREFIX}generic-apiserver-start-informers`, `${HOOK_PREFIX}start-apiserver-admission-initializer`],
      run: (signal) => waitUntil(clock, () => cache.state === "following", signal),
    },
    // CRDs must be loaded before StorageVersions are published, because those of custom and built-in resources are
    // published together.
    {
      name: "crd-informer-synced",
      also: [`${HOOK_PREFIX}start-apiextensions-informers`, `${HOOK_PREFIX}start-apiextensions-controllers`],
      run: (signal) => waitUntil(clock, () => custom.table.isLoaded, signal),
    },
  ];
}

/** The ranges of the default ServiceCIDR; none if the release does not allocate from ServiceCIDRs. */
function serviceCidrs({ release, serviceClusterIpRanges }: Foundation["config"]): string[] {
  const isUsed = gatesOf(release).isOn("MultiCIDRServiceAllocator");
  return isUsed ? serviceClusterIpRanges.map(({ text }) => text) : [];
}

function bootstrap(on: Foundation, { resources, cluster }: KubernetesStages): StartupHook[] {
  const { env, config, loopback, address } = on;
  const { clock, log } = env;
  const { serviceClusterIpRanges: ranges } = config;
  const published = config.published && { clusterIp: ranges[0].nameAt(0), port: address.announced.then(portOf) };
  return bootstrapHooks({
    call: loopback.callAsServer,
    clock,
    log,
    context: cluster.context,
    resolve: resources.table.resolve,
    catalog: resources.catalog,
    serviceCidrs: serviceCidrs(config),
    published,
    usesRoles: config.access.authorizationModes.includes("RBAC"),
    acceptsTokens: config.serviceAccounts.keys.length > 0,
    trust: trustOf(config),
  });
}
