/**
 * Creates the controllers of a cluster. Each controller runs on one server at a time, and acts as an ordinary client.
 */
import type { Client } from "../../client/client.ts";
import {
  createControllerMetrics,
  type ControllerMetrics,
} from "../../cluster/controller-runtime/controller-metrics.ts";
import { ContestedWrites } from "../../cluster/controller-runtime/contested-writes.ts";
import { createControllerManager, type ControllerManager } from "../../cluster/controller-runtime/manager.ts";
import { objectControllers, type NamedSpec, type ObjectControllerParts } from "./object-controllers.ts";
import { TermFence } from "../../cluster/controller-runtime/term-fence.ts";
import { CONTROLLERS_LEASE, MIGRATIONS_LEASE } from "../../cluster/inspect/leader-leases.ts";
import { storedOnlyIn } from "../../cluster/inspect/stored-only-in.ts";
import type { StorageVersions } from "../../cluster/storageversion/create-storage-versions.ts";
import { createStorageVersionControllers } from "../../cluster/storageversion/create-controllers.ts";
import type { Foundation } from "../foundation.ts";
import type { ServerStore } from "../store.ts";

interface ControllerParts extends ObjectControllerParts {
  /**
   * Undefined if this server takes no part in the agreement on encodings. It then runs no controllers that clean up
   * StorageVersions or migrate objects.
   */
  readonly storageVersions: StorageVersions | undefined;
  readonly mustStandBack: (name: string) => boolean;
}

/** Shared by all parts of a server that keep objects as they should be. */
export function createContestedWrites({ env, metrics }: Foundation): ContestedWrites {
  return new ContestedWrites({ clock: env.clock, log: env.log, metrics });
}

/**
 * Creates at most two managers, each with its own leader election; a manager without enabled controllers is omitted.
 * The first leader runs the controllers that every server can run. The second leader runs the migrations that users
 * request: it must be a server that serves the API of migrations, which not every server of a mixed cluster does. The
 * leases of both elections are in kube-system.
 */
export function createControllers(on: Foundation, store: ServerStore, parts: ControllerParts): ControllerManager[] {
  const { env, config, metrics, loopback } = on;
  const { clock, random, log } = env;
  // These controllers need no fence: if two servers led at the same time, they would do the same work twice.
  const forStorageVersions = createStorageVersionControllers({
    env,
    metrics,
    client: loopback.client,
    catalog: parts.resources.catalog,
    members: parts.storageVersions?.members,
    isStoredOnlyIn: storedOnlyIn(store.cache, {
      storageRoot: config.storageRoot,
      isOutdated: ({ key, sealing, lacksDefaults }) => lacksDefaults || store.kv.isOutdated?.(key, sealing) === true,
    }),
  });
  const fence = new TermFence();
  const groups: [leaseName: string, controllers: readonly NamedSpec[], fence?: TermFence][] = [
    [CONTROLLERS_LEASE, [...objectControllers(on, parts, fence), ...forStorageVersions.onEveryServer], fence],
    [MIGRATIONS_LEASE, forStorageVersions.whereServed],
  ];
  const controllerMetrics: ControllerMetrics = createControllerMetrics(metrics);
  const { id, incarnation } = parts.peers.identity.self;
  const waits = (): ReturnType<ContestedWrites["waits"]> => parts.contested.waits();
  return groups.flatMap(([leaseName, all, fencing]) => {
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
      mustStandBack: parts.mustStandBack,
      ...(fencing === undefined ? {} : { waits }),
      onTerm: (term) => fencing?.begin(term),
    });
  });
}
