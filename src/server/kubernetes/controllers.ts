/**
 * Creates the controllers of a cluster. Each controller runs on one server at a time, and acts as an ordinary client.
 */
import { createQuotaCalculator } from "../../access/admission/plugins/quota/recalculate.ts";
import type { Client } from "../../client/client.ts";
import type { ControllerName } from "../../cluster/controllers/controller-names.ts";
import { createClusterRoleAggregationController } from "../../cluster/controllers/cluster-role-aggregation.ts";
import { createGarbageCollector } from "../../cluster/controllers/garbage-collector/garbage-collector.ts";
import { createNamespaceController } from "../../cluster/controllers/namespace/namespace-controller.ts";
import { createResourceQuotaController } from "../../cluster/controllers/resource-quota.ts";
import { clusterResources } from "../../cluster/controllers/merge-cluster-resources.ts";
import { createRootCaPublisher } from "../../cluster/controllers/root-ca-publisher.ts";
import {
  createControllerMetrics,
  type ControllerMetrics,
} from "../../cluster/controller-runtime/controller-metrics.ts";
import type { ControllerSpec } from "../../cluster/controller-runtime/controller.ts";
import { createControllerManager, type ControllerManager } from "../../cluster/controller-runtime/manager.ts";
import { createServiceAccountController } from "../../cluster/controllers/service-account.ts";
import { createVolumeProtection } from "../../cluster/controllers/volume-protection.ts";
import { storedOnlyIn } from "../../cluster/inspect/stored-only-in.ts";
import type { Peers } from "../../cluster/peers/peers.ts";
import type { StorageVersions } from "../../cluster/storageversion/create-storage-versions.ts";
import { createStorageVersionControllers } from "../../cluster/storageversion/create-controllers.ts";
import type { Catalog } from "../../objects/catalog/catalog.ts";
import { gatesOf } from "../../objects/catalog/release-gates.ts";
import type { LocalDocument } from "../../serving/discovery/local-document.ts";
import type { Foundation } from "../foundation.ts";
import type { ServerStore } from "../store.ts";
import type { KubernetesResources } from "./resources.ts";

interface ControllerParts {
  readonly resources: KubernetesResources;
  readonly peers: Peers;
  /** The discovery document of this server, including custom and aggregated resources. */
  readonly shown: LocalDocument;
  /**
   * Undefined if this server takes no part in the agreement on encodings. It then runs no controllers that clean up
   * StorageVersions or migrate objects.
   */
  readonly storageVersions: StorageVersions | undefined;
}

type NamedSpec = ControllerSpec & { readonly name: ControllerName };

/**
 * Creates at most two managers, each with its own leader election; a manager without enabled controllers is omitted.
 * The first leader runs the controllers that every server can run. The second leader runs the migrations that users
 * request: it must be a server that serves the API of migrations, which not every server of a mixed cluster does. The
 * leases of both elections are in kube-system.
 */
export function createControllers(on: Foundation, store: ServerStore, parts: ControllerParts): ControllerManager[] {
  const { env, config, metrics, loopback } = on;
  const { clock, random, log } = env;
  const forStorageVersions = createStorageVersionControllers({
    env,
    metrics,
    client: loopback.client,
    catalog: parts.resources.catalog,
    members: parts.storageVersions?.members,
    isStoredOnlyIn: storedOnlyIn(store.cache, config),
  });
  const groups: [leaseName: string, controllers: readonly NamedSpec[]][] = [
    ["evenkeel-controllers", [...objectControllers(on, parts), ...forStorageVersions.onEveryServer]],
    ["evenkeel-storage-version-migrations", forStorageVersions.whereServed],
  ];
  const controllerMetrics: ControllerMetrics = createControllerMetrics(metrics);
  const { id, incarnation } = parts.peers.identity.self;
  return groups.flatMap(([leaseName, all]) => {
    const controllers = all.filter(({ name }) => config.controllers.has(name));
    if (controllers.length === 0) return [];
    const client: Client = loopback.client;
    return createControllerManager({
      controllers,
      client,
      clock,
      random,
      log,
      metrics: controllerMetrics,
      identity: `${id}_${incarnation}`,
      leaseName,
      epoch: store.cache.epoch,
      enabled: config.controllers,
    });
  });
}

function objectControllers(on: Foundation, { resources, peers, shown }: ControllerParts): NamedSpec[] {
  const { env, config, metrics, loopback } = on;
  const { clock, random, log } = env;
  const { client, metadata } = loopback;
  const served = clusterResources({ config, peers, local: shown, shared: resources.shared });
  const common = { client, metadata, resources: served, clock, random, log, metrics };
  const calculation = createQuotaCalculator({
    gates: gatesOf(config.release),
    now: () => clock.now(),
  });
  const all: readonly (NamedSpec | undefined)[] = [
    createGarbageCollector(common),
    createNamespaceController(common),
    createServiceAccountController({ client, log }),
    createRootCaPublisher({ client, log, rootCa: config.rootCa }),
    createClusterRoleAggregationController({ client, log }),
    createResourceQuotaController({ ...common, calculation }),
    ...createVolumeProtection({
      client,
      metadata,
      log,
      hasAttributesClasses: protectsAttributesClasses(resources.catalog),
    }),
  ];
  return all.filter((spec) => spec !== undefined);
}

/** True for releases that serve storage.k8s.io/v1 VolumeAttributesClass; these releases protect it with a finalizer. */
function protectsAttributesClasses(catalog: Catalog): boolean {
  const versions = catalog.resource("storage.k8s.io", "volumeattributesclasses")?.versions ?? [];
  return versions.some(({ version }) => version === "v1");
}
