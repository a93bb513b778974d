/** The metrics of the garbage collector. */
import type { Counter, MetricFamily, MetricsRegistry } from "../../../base/metrics.ts";
import type { GroupResource } from "../../../meta/group-version.ts";

export interface GarbageCollectorMetrics {
  readonly syncErrors: Counter;
  readonly deleted: Counter;
  readonly orphaned: Counter;
  readonly attemptsWaiting: MetricFamily<Counter>;
}

export function createGarbageCollectorMetrics(
  registry: MetricsRegistry,
  unwatched: () => readonly GroupResource[],
): GarbageCollectorMetrics {
  registry.gaugesOf(
    {
      name: "evenkeel_garbage_collector_waiting_resources",
      help: "Resources that cannot be watched at present; objects that depend on them are kept.",
      labels: ["group", "resource"],
    },
    () => unwatched().map(({ group, resource }) => ({ labelValues: [group, resource], value: 1 })),
  );
  return {
    syncErrors: registry
      .counter({
        name: "garbagecollector_controller_resources_sync_error_total",
        help: "Number of garbage collector resources sync errors",
      })
      .with(),
    deleted: registry
      .counter({
        name: "evenkeel_garbage_collector_deleted_total",
        help: "Objects deleted because none of their owners exists.",
      })
      .with(),
    orphaned: registry
      .counter({
        name: "evenkeel_garbage_collector_orphaned_total",
        help: "Objects orphaned because their owner was deleted without its dependents.",
      })
      .with(),
    attemptsWaiting: registry.counter({
      name: "evenkeel_garbage_collector_attempts_waiting_total",
      help: "Attempts to collect an object that ended in waiting, by reason.",
      labels: ["reason"],
    }),
  };
}
