/** The metrics of auditing, with kube-apiserver's names. */
import type { Counter, MetricFamily, MetricsRegistry } from "../../base/metrics.ts";

export interface AuditMetrics {
  readonly events: Counter;
  /** Lost events, by the component that lost them. */
  readonly errors: MetricFamily<Counter>;
  /** Requests, by the level that the policy assigns to them. */
  readonly levels: MetricFamily<Counter>;
  readonly rejected: Counter;
}

export function createAuditMetrics(metrics: MetricsRegistry): AuditMetrics {
  const plain = (name: string, help: string): Counter => metrics.counter({ name, help }).with();
  return {
    events: plain("apiserver_audit_event_total", "Audit events generated and sent to the audit backend."),
    errors: metrics.counter({
      name: "apiserver_audit_error_total",
      help: "Audit events that were lost, by the plugin that failed.",
      labels: ["plugin"],
    }),
    levels: metrics.counter({
      name: "apiserver_audit_level_total",
      help: "Requests, by the audit level that the policy assigns to them.",
      labels: ["level"],
    }),
    rejected: plain(
      "apiserver_audit_requests_rejected_total",
      "Requests rejected because their audit event could not be stored.",
    ),
  };
}
