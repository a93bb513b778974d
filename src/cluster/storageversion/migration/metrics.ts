/** The metrics of storage migrations. */
import type { Counter, Gauge, MetricFamily, MetricsRegistry } from "../../../base/metrics.ts";

export interface MigrationMetrics {
  readonly migrations: MetricFamily<Counter>;
  readonly objects: MetricFamily<Counter>;
  readonly progress: MetricFamily<Gauge>;
}

/**
 * Must be called once per registry, because the automatic mode and the controller of migration objects share the
 * metrics.
 */
export function createMigrationMetrics(metrics: MetricsRegistry): MigrationMetrics {
  return {
    migrations: metrics.counter({
      name: "evenkeel_storage_migrations_total",
      help: "Storage migrations that ended, by resource and result.",
      labels: ["resource", "result"],
    }),
    objects: metrics.counter({
      name: "evenkeel_storage_migration_objects_total",
      help: "Objects that storage migrations processed, by resource and result.",
      labels: ["resource", "result"],
    }),
    progress: metrics.gauge({
      name: "evenkeel_storage_migration_progress",
      help: "The part of a resource's objects that its latest storage migration has processed, from 0 to 1.",
      labels: ["resource"],
    }),
  };
}
