/** Applies the failure policy of a webhook to a failed call. */
import type { Attributes } from "../admission.ts";
import { StatusError } from "../../../meta/status-error.ts";
import type { WebhookMetrics } from "./metrics.ts";
import type { Webhook } from "./webhook.ts";
import { internalError, requestEnded, WebhookCallError } from "./webhook-errors.ts";

interface Failure {
  readonly thrown: unknown;
  readonly attributes: Attributes;
  /** The key of the audit annotation that is set to the name of the webhook if its failure is ignored. */
  readonly failedOpenKey: string;
  readonly metrics: WebhookMetrics;
}

/** Returns if the failure is ignored; throws a StatusError otherwise. */
export function applyFailurePolicy(webhook: Webhook, { thrown, attributes, failedOpenKey, metrics }: Failure): void {
  if (!(thrown instanceof WebhookCallError)) throw StatusError.from(thrown);
  if (!webhook.ignoresFailures) throw internalError(thrown.message);
  // If the client has disconnected, the failure is not ignored, so that the write ends here.
  if (attributes.signal.aborted) throw requestEnded();
  metrics.failedOpen(webhook.name);
  attributes.annotate(failedOpenKey, webhook.name);
}
