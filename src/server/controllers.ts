/** The controllers of a cluster: each on one of its servers at a time, through the same chain as everybody. */
import { createQuotaCalculator } from "../access/admission/plugins/quota/recalculate.ts";
import type { MetricsRegistry } from "../base/metrics.ts";
import type { Catalogue } from "../objects/catalogue/catalogue.ts";
import type { Client } from "../client/client.ts";
import { createControllerManager, type ControllerManager } from "../cluster/controllers/runtime/manager.ts";
import { createControllerMetrics, type ControllerMetrics } from "../cluster/controllers/runtime/controller-metrics.ts";
import type { ControllerSpec } from "../cluster/controllers/runtime/controller.ts";
import { createClusterRoleAggregationController } from "../cluster/controllers/cluster-role-aggregation.ts";
import { createGarbageCollector } from "../cluster/controllers/garbage-collector/garbage-collector.ts";
import { createNamespaceController } from "../cluster/controllers/namespace/namespace-controller.ts";
import { createResourceQuotaController, type QuotaCalculation } from "../cluster/controllers/resource-quota.ts";
import { createRootCaPublisher } from "../cluster/controllers/root-ca-publisher.ts";
import { createServiceAccountController } from "../cluster/controllers/service-account.ts";
import { createVolumeProtection } from "../cluster/controllers/volume-protection.ts";
import { createCollector } from "../cluster/storageversion/collector.ts";
import type { Members } from "../cluster/storageversion/members.ts";
import { createMigrationMetrics } from "../cluster/storageversion/migration/metrics.ts";
import { createEngine } from "../cluster/storageversion/migration/migrate-resource.ts";
import { createMigrator, type MigrationOptions } from "../cluster/storageversion/migration/migrator.ts";
import { migrationType } from "../cluster/storageversion/migration/migration-objects.ts";
import { createStorageStates } from "../cluster/storageversion/migration/storage-state.ts";
import { createSvmController } from "../cluster/storageversion/migration/svm-controller.ts";
import type { ControllerName } from "./controller-names.ts";
import type { Cluster } from "./cluster.ts";
import { clusterResources, type ClusterResourcesParts } from "./cluster-resources.ts";
import type { ServerConfig } from "./config.ts";
import type { Env } from "./env.ts";
import type { WatchCache } from "../storage/watch-cache/cache.ts";
import { storedOnlyIn } from "./stored-only-in.ts";
import { gatesOf } from "../objects/catalogue/release-gates.ts";

export interface ControllerParts {
  readonly env: Env;
  readonly config: ServerConfig;
  readonly metrics: MetricsRegistry;
  readonly client: Client;
  /** Is shown nothing of objects but their metadata. */
  readonly metadata: Client;
  readonly cluster: Cluster;
  /** What this server serves. */
  readonly local: ClusterResourcesParts["local"];
  readonly shared: ClusterResourcesParts["shared"];
  readonly catalogue: Catalogue;
  readonly cache: WatchCache;
  /** Undefined: servers agree on nothing, and there is nothing to keep true. */
  readonly members: Members | undefined;
}

type NamedSpec = ControllerSpec & { readonly name: ControllerName };

/**
 * Controllers that every server can run are one leader's. Migrations that people ask for are another's, which must serve
 * their API: in a mixed cluster not every server does. Leases are in kube-system.
 */
export function createControllers(parts: ControllerParts): ControllerManager[] {
  const tools = migrationOptions(parts);
  const metrics = createControllerMetrics(parts.metrics);
  const groups: [leaseName: string, controllers: readonly NamedSpec[]][] = [
    ["evenkeel-controllers", everywhere(parts, tools)],
    ["evenkeel-storage-version-migrations", whereServed(parts, tools)],
  ];
  return groups.flatMap(([leaseName, controllers]) => manager({ ...parts, metrics }, leaseName, controllers) ?? []);
}

/** Undefined when there is nothing to run. */
function manager(
  { env, config, metrics, client, cluster }: Omit<ControllerParts, "metrics"> & { readonly metrics: ControllerMetrics },
  leaseName: string,
  all: readonly NamedSpec[],
): ControllerManager | undefined {
  const { clock, random, log } = env;
  const controllers = all.filter(({ name }) => config.controllers.has(name));
  if (controllers.length === 0) return undefined;
  const { id, incarnation } = cluster.identity.self;
  const identity = `${id}_${incarnation}`;
  return createControllerManager({
    ...{ controllers, client, clock, random, log, metrics, identity, leaseName },
    enabled: config.controllers,
  });
}

function everywhere(parts: ControllerParts, tools: MigrationOptions): NamedSpec[] {
  const { env, config, metrics, client, metadata, members } = parts;
  const { clock, random, log } = env;
  const common = { client, metadata, resources: clusterResources(parts), clock, random, log, metrics };
  const all: readonly (NamedSpec | undefined)[] = [
    createGarbageCollector(common),
    createNamespaceController(common),
    createServiceAccountController({ client, log }),
    createRootCaPublisher({ client, log, rootCa: config.rootCa }),
    createClusterRoleAggregationController({ client, log }),
    createResourceQuotaController({ ...common, calculation: quotaCalculation(parts) }),
    ...createVolumeProtection({ client, metadata, log, hasAttributesClasses: protectsAttributesClasses(parts) }),
    members && createCollector({ client, members, clock, log, metrics }),
    members && createMigrator(tools),
  ];
  return all.filter((spec) => spec !== undefined);
}

function quotaCalculation({ env, config }: ControllerParts): QuotaCalculation {
  return createQuotaCalculator({ gates: gatesOf(config.release), now: () => env.clock.now() });
}

/** Whoever knows the class in v1 gives it a finalizer. */
function protectsAttributesClasses({ catalogue }: ControllerParts): boolean {
  const versions = catalogue.resource("storage.k8s.io", "volumeattributesclasses")?.versions ?? [];
  return versions.some(({ version }) => version === "v1");
}

function whereServed({ catalogue, members }: ControllerParts, tools: MigrationOptions): NamedSpec[] {
  const { group, resource } = migrationType("");
  const version = catalogue.resource(group, resource)?.versions[0]?.version;
  const controller = createSvmController({ ...tools, version, servesStorageVersions: members !== undefined });
  return controller === undefined ? [] : [controller];
}

function migrationOptions({ env, config, metrics, client, cache }: ControllerParts): MigrationOptions {
  const { clock, random, log } = env;
  return {
    ...{ client, clock, log },
    engine: createEngine({ client, clock, random }),
    states: createStorageStates({ client, clock, random }),
    metrics: createMigrationMetrics(metrics),
    isStoredOnlyIn: storedOnlyIn(cache, config),
  };
}
