/** What follows when a webhook has not let a write pass. */
import type { Attributes } from "../admission.ts";
import { StatusError } from "../../../meta/status-error.ts";
import type { WebhookMetrics } from "./metrics.ts";
import type { Webhook } from "./webhook.ts";
import { internalError, requestEnded, WebhookCallError } from "./webhook-errors.ts";

interface Failure {
  readonly thrown: unknown;
  readonly attributes: Attributes;
  /** Whom the audit event names where the write goes on all the same. */
  readonly failedOpenKey: string;
  readonly metrics: WebhookMetrics;
}

/** Returns where the webhook's failure is to be ignored; throws a StatusError where it is not. */
export function heedFailurePolicy(webhook: Webhook, { thrown, attributes, failedOpenKey, metrics }: Failure): void {
  if (!(thrown instanceof WebhookCallError)) throw StatusError.from(thrown);
  if (!webhook.ignoresFailures) throw internalError(thrown.message);
  // There is no point in going on with what nobody waits for.
  if (attributes.signal.aborted) throw requestEnded();
  metrics.failedOpen(webhook.name);
  attributes.annotate(failedOpenKey, webhook.name);
}
