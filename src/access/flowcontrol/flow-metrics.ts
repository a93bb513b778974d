/** Metrics of flow control with kube-apiserver's names. Gauges are computed when they are scraped. */
import type { Counter, Histogram, MetricFamily, MetricsRegistry } from "../../base/metrics.ts";
import type { FlowCounts } from "./queue-set.ts";
import type { SeatLimits } from "./seat-allocation.ts";

const PREFIX = "apiserver_flowcontrol_";
const DURATIONS: readonly number[] = [0, 0.005, 0.02, 0.05, 0.1, 0.2, 0.5, 1, 2, 5, 10, 15, 30];
const SEATS: readonly number[] = [1, 2, 4, 8, 16, 32, 64, 100];
const FLOW_LABELS: readonly string[] = ["priority_level", "flow_schema"];

export type RejectionReason = "concurrency-limit" | "queue-full" | "time-out";

export interface LevelReading {
  readonly level: string;
  readonly limits: SeatLimits;
  readonly current: number;
}

interface FlowReading {
  readonly level: string;
  readonly flowSchema: string;
  readonly counts: FlowCounts;
}

/** Numbers of requests by kind (read-only or mutating), which servers without priority and fairness report too. */
export interface KindCounts {
  readOnly: number;
  mutating: number;
}

export interface Readings {
  readonly levels: () => Iterable<LevelReading>;
  readonly flows: () => Iterable<FlowReading>;
  readonly executing: KindCounts;
  readonly waiting: KindCounts;
}

/** The metric series of one FlowSchema. */
export interface FlowSeries {
  readonly dispatched: Counter;
  readonly seats: Histogram;
  readonly waitedToExecute: Histogram;
  readonly waitedAndRejected: Histogram;
  readonly executed: Histogram;
  readonly watchStarted: Histogram;
  countRejected(reason: RejectionReason): void;
}

export function createFlowMetrics(
  registry: MetricsRegistry,
  readings: Readings,
): (level: string, flowSchema: string) => FlowSeries {
  registerGauges(registry, readings);
  const rejected = registry.counter({
    name: `${PREFIX}rejected_requests_total`,
    help: "Requests rejected by API Priority and Fairness.",
    labels: [...FLOW_LABELS, "reason"],
  });
  const dispatched = registry.counter({
    name: `${PREFIX}dispatched_requests_total`,
    help: "Requests dispatched by API Priority and Fairness.",
    labels: FLOW_LABELS,
  });
  const waits = histogram(
    registry,
    "request_wait_duration_seconds",
    "Time that requests spent waiting in a queue.",
    "execute",
  );
  const executions = histogram(
    registry,
    "request_execution_seconds",
    "Time that requests held their seats; for a watch, until its response began.",
    "type",
  );
  const seats = registry.histogram({
    name: `${PREFIX}work_estimated_seats`,
    help: "Estimated seats of requests.",
    labels: FLOW_LABELS,
    buckets: SEATS,
  });
  return (level, flowSchema) => ({
    dispatched: dispatched.with(level, flowSchema),
    seats: seats.with(level, flowSchema),
    waitedToExecute: waits.with(level, flowSchema, "true"),
    waitedAndRejected: waits.with(level, flowSchema, "false"),
    executed: executions.with(level, flowSchema, "regular"),
    watchStarted: executions.with(level, flowSchema, "watch"),
    countRejected: (reason) => rejected.with(level, flowSchema, reason).inc(),
  });
}

function histogram(registry: MetricsRegistry, name: string, help: string, label: string): MetricFamily<Histogram> {
  return registry.histogram({ name: `${PREFIX}${name}`, help, labels: [...FLOW_LABELS, label], buckets: DURATIONS });
}

function registerGauges(registry: MetricsRegistry, { levels, flows, executing, waiting }: Readings): void {
  const ofLevels: readonly [string, string, (reading: LevelReading) => number][] = [
    ["nominal_limit_seats", "Nominal number of seats of a priority level.", ({ limits }) => limits.nominal],
    [
      "lower_limit_seats",
      "Lower bound of the seats of a priority level; it never lends these.",
      ({ limits }) => limits.lower,
    ],
    [
      "upper_limit_seats",
      "Upper bound of the seats of a priority level, including borrowed ones.",
      ({ limits }) => limits.upper,
    ],
    ["current_limit_seats", "Current number of seats of a priority level.", ({ current }) => current],
  ];
  for (const [name, help, read] of ofLevels)
    registry.gaugesOf({ name: `${PREFIX}${name}`, help, labels: ["priority_level"] }, () =>
      Array.from(levels(), (reading) => ({ labelValues: [reading.level], value: read(reading) })),
    );
  const ofFlows: readonly [string, string, keyof FlowCounts][] = [
    ["current_inqueue_requests", "Requests that currently wait in a queue.", "waiting"],
    ["current_inqueue_seats", "Seats of the requests that currently wait in a queue.", "waitingSeats"],
    [
      "current_executing_requests",
      "Requests that currently hold seats; watches only until their response begins.",
      "executing",
    ],
    ["current_executing_seats", "Seats that requests currently hold.", "executingSeats"],
  ];
  for (const [name, help, count] of ofFlows)
    registry.gaugesOf({ name: `${PREFIX}${name}`, help, labels: FLOW_LABELS }, () =>
      Array.from(flows(), ({ level, flowSchema, counts }) => ({
        labelValues: [level, flowSchema],
        value: counts[count],
      })),
    );
  const ofKinds: readonly [string, string, KindCounts][] = [
    ["apiserver_current_inflight_requests", "Requests in flight, by kind.", executing],
    ["apiserver_current_inqueue_requests", "Requests waiting to be served, by kind.", waiting],
  ];
  for (const [name, help, counts] of ofKinds)
    registry.gaugesOf({ name, help, labels: ["request_kind"] }, () => [
      { labelValues: ["readOnly"], value: counts.readOnly },
      { labelValues: ["mutating"], value: counts.mutating },
    ]);
}
