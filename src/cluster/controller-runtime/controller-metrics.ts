/**
 * The metrics of controllers: work queue and leader election under Kubernetes' names, reconciles under Evenkeel's own.
 */
import type { MetricsRegistry } from "../../base/metrics.ts";
import type { ControllerRunOptions } from "./controller-run.ts";

export interface ControllerMetrics {
  /** Returns the hooks that count the work of one controller. */
  of(name: string): Pick<ControllerRunOptions, "queueHooks" | "onReconciled">;
  /** Adds the gauges of one manager, which are evaluated on each scrape. */
  show(readings: Readings): void;
}

interface Readings {
  readonly masterStatus: () => Iterable<{ readonly name: string; readonly isLeading: boolean }>;
  readonly depths: () => Iterable<{ readonly name: string; readonly depth: number }>;
}

/** As kubernetes: ten nanoseconds to a thousand seconds, in powers of ten. */
const DURATION_BUCKETS: readonly number[] = [1e-8, 1e-7, 1e-6, 1e-5, 1e-4, 1e-3, 0.01, 0.1, 1, 10, 100, 1000];

/** Creates the metrics once; all managers of a server share them. */
export function createControllerMetrics(registry: MetricsRegistry): ControllerMetrics {
  const labels = ["name"];
  const shown: Readings[] = [];
  registry.gaugesOf({ name: "workqueue_depth", help: "Keys that wait in a work queue.", labels }, () =>
    shown.flatMap(({ depths }) => Array.from(depths(), ({ name, depth }) => ({ labelValues: [name], value: depth }))),
  );
  registry.gaugesOf(
    {
      name: "leader_election_master_status",
      help: "Whether this server holds the lease (1) or is a backup (0).",
      labels,
    },
    () =>
      shown.flatMap(({ masterStatus }) =>
        Array.from(masterStatus(), ({ name, isLeading }) => ({ labelValues: [name], value: isLeading ? 1 : 0 })),
      ),
  );
  const adds = registry.counter({ name: "workqueue_adds_total", help: "Keys added to a work queue.", labels });
  const retries = registry.counter({
    name: "workqueue_retries_total",
    help: "Keys that a work queue took back after a failure.",
    labels,
  });
  const worked = registry.histogram({
    name: "workqueue_work_duration_seconds",
    help: "How long working on a key took.",
    labels,
    buckets: DURATION_BUCKETS,
  });
  const waited = registry.histogram({
    name: "workqueue_queue_duration_seconds",
    help: "How long a key waited in a work queue.",
    labels,
    buckets: DURATION_BUCKETS,
  });
  const reconciles = registry.counter({
    name: "evenkeel_controller_reconciles_total",
    help: "Reconciles by result.",
    labels: ["controller", "result"],
  });
  return {
    show: (readings) => void shown.push(readings),
    of: (name) => ({
      queueHooks: {
        onAdd: () => adds.with(name).inc(),
        onRetry: () => retries.with(name).inc(),
        onDone: (_key, { waitedMs, workedMs }) => {
          waited.with(name).observe(waitedMs / 1000);
          worked.with(name).observe(workedMs / 1000);
        },
      },
      onReconciled: (outcome) => reconciles.with(name, outcome).inc(),
    }),
  };
}
