/** Metrics of webhook calls, with kubernetes' names. */
import type { Clock } from "../../../base/clock.ts";
import type { MetricsRegistry } from "../../../base/metrics.ts";
import type { Operation } from "../../../serving/registry/admission.ts";
import { isDenial, WebhookCallError } from "./webhook-errors.ts";
import type { Webhook } from "./webhook.ts";

export interface WebhookMetrics {
  /** Measures one call of a webhook and counts its outcome. Passes errors of the call on. */
  observe<T>(webhook: Webhook, operation: Operation, work: () => Promise<T>): Promise<T>;
  failedOpen(name: string): void;
}

/**
 * The metrics of one of the two webhook plugins. The plugins share the metric families and differ in the label "type".
 */
export type WebhookMetricsOf = (type: "admit" | "validating") => WebhookMetrics;

const BUCKETS: readonly number[] = [0.005, 0.025, 0.1, 0.5, 1, 2.5, 10, 25];
const CODE_MAX = 600;
const UNAVAILABLE = 503;

export function createWebhookMetrics(registry: MetricsRegistry, clock: Clock): WebhookMetricsOf {
  const prefix = "apiserver_admission_webhook";
  const seconds = registry.histogram({
    name: `${prefix}_admission_duration_seconds`,
    help: "Admission webhook latency in seconds, by name, type (validating or admit) and operation.",
    labels: ["name", "type", "operation", "rejected"],
    buckets: BUCKETS,
  });
  const requests = registry.counter({
    name: `${prefix}_request_total`,
    help: "Calls of admission webhooks; codes above 600 count as 600.",
    labels: ["name", "type", "operation", "code", "rejected"],
  });
  const rejections = registry.counter({
    name: `${prefix}_rejection_count`,
    help: "Writes that an admission webhook denied, or that were rejected because a webhook failed.",
    labels: ["name", "type", "operation", "error_type", "rejection_code"],
  });
  const failOpen = registry.counter({
    name: `${prefix}_fail_open_count`,
    help: "Failures of admission webhooks that were ignored because of their failure policy.",
    labels: ["name", "type"],
  });
  return (type) => ({
    async observe(webhook, operation, work) {
      const { name } = webhook;
      const start = clock.monotonic();
      const done = (end: End): void => {
        seconds.with(name, type, operation, String(end.isRejected)).observe((clock.monotonic() - start) / 1_000);
        requests.with(name, type, operation, String(end.code), String(end.isRejected)).inc();
        if (end.isRejected) rejections.with(name, type, operation, end.error, String(end.code)).inc();
      };
      try {
        const value = await work();
        done({ code: 200, isRejected: false, error: "no_error" });
        return value;
      } catch (thrown) {
        done(endOf(thrown, webhook));
        throw thrown;
      }
    },
    failedOpen: (name) => failOpen.with(name, type).inc(),
  });
}

interface End {
  readonly code: number;
  readonly isRejected: boolean;
  readonly error: "no_error" | "calling_webhook_error" | "apiserver_internal_error";
}

function endOf(thrown: unknown, { ignoresFailures }: Webhook): End {
  if (isDenial(thrown)) return { code: Math.min(thrown.code, CODE_MAX), isRejected: true, error: "no_error" };
  if (thrown instanceof WebhookCallError)
    return { code: UNAVAILABLE, isRejected: !ignoresFailures, error: "calling_webhook_error" };
  return { code: 0, isRejected: true, error: "apiserver_internal_error" };
}
