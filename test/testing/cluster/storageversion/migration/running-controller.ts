/**
 * Runs a controller on a fake cluster as the controller runtime does: keys are deduplicated, workers run in parallel,
 * and failed keys are retried.
 */
import type { KeySource } from "../../../../../src/cluster/controller-runtime/controller.ts";
import { SILENT_LOG } from "../../../../../src/base/log.ts";
import { MetricsRegistry } from "../../../../../src/base/metrics.ts";
import { WorkQueue } from "../../../../../src/base/work-queue.ts";
import { createMigrationMetrics } from "../../../../../src/cluster/storageversion/migration/metrics.ts";
import { createEngine } from "../../../../../src/cluster/storageversion/migration/migrate-resource.ts";
import type { MigrationOptions } from "../../../../../src/cluster/storageversion/migration/migrator.ts";
import { createStorageStates } from "../../../../../src/cluster/storageversion/migration/storage-state.ts";
import {
  parseStorageState,
  type StorageState,
} from "../../../../../src/cluster/storageversion/migration/state-value.ts";
import type { FakeCluster } from "./fake-cluster.ts";

export interface DrivenController {
  readonly workers: number;
  readonly reconcile: (key: string, signal: AbortSignal) => Promise<{ readonly requeueAfterMs?: number } | undefined>;
  sources(): readonly KeySource[];
}

export function migrationOptions(cluster: FakeCluster): MigrationOptions & { readonly registry: MetricsRegistry } {
  const { client, world } = cluster;
  const { clock } = world;
  const registry = new MetricsRegistry();
  return {
    client,
    clock,
    log: SILENT_LOG,
    engine: createEngine({ client, clock, random: world.randomFor("engine"), pageItems: 500 }),
    states: createStorageStates({ client, clock, random: world.randomFor("states") }),
    metrics: createMigrationMetrics(registry),
    registry,
  };
}

export function storedState(cluster: FakeCluster, name: string): StorageState {
  const configMap = cluster.object("configmaps", "evenkeel-storage-state", "kube-system");
  return parseStorageState(configMap?.data?.[name]);
}

/** One term of leadership. `stop` ends it abruptly, as in a crash. */
export class RunningController {
  readonly errors: unknown[] = [];
  readonly #stop = new AbortController();

  constructor(cluster: FakeCluster, controller: DrivenController) {
    const { clock } = cluster.world;
    const queue = new WorkQueue({ clock, random: cluster.world.randomFor("queue") });
    const { signal } = this.#stop;
    signal.addEventListener("abort", () => queue.close());
    for (const source of controller.sources()) void source.run((key) => queue.add(key), signal);
    for (let worker = 0; worker < controller.workers; worker++) void this.#work(queue, controller);
  }

  stop(): void {
    this.#stop.abort();
  }

  [Symbol.dispose](): void {
    this.stop();
  }

  async #work(queue: WorkQueue, controller: DrivenController): Promise<void> {
    for (;;) {
      const key = await queue.next();
      if (key === undefined) return;
      try {
        const result = await controller.reconcile(key, this.#stop.signal);
        queue.forget(key);
        if (result?.requeueAfterMs !== undefined) queue.addAfter(key, result.requeueAfterMs);
      } catch (thrown) {
        if (!this.#stop.signal.aborted) this.errors.push(thrown);
        queue.addRateLimited(key);
      }
      queue.done(key);
    }
  }
}
