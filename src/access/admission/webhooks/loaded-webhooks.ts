/**
 * Delays a write until all webhook configurations are loaded, because a webhook that is not loaded yet could deny it.
 */
import type { Attributes } from "../admission.ts";
import { within } from "../../../base/within.ts";
import { isExemptFromWebhooks } from "../matching/exemptions.ts";
import { admissionForbidden } from "../plugins/plugin-errors.ts";
import type { WebhookParts } from "./webhook-parts.ts";
import type { Webhook } from "./webhook.ts";

/** How long a write waits before it is rejected. As kubernetes. */
const TIMEOUT_MS = 10_000;

export function mayHaveWebhooks({ table }: Pick<WebhookParts, "table">): boolean {
  return !table.isLoaded || table.webhooks().length > 0;
}

/** All webhooks, or none if the object is exempt from webhooks. Throws a StatusError if they are not loaded in time. */
export async function knownWebhooks(
  { clock, table }: Pick<WebhookParts, "clock" | "table">,
  attributes: Attributes,
): Promise<readonly Webhook[]> {
  if (isExemptFromWebhooks(attributes)) return [];
  if (!table.isLoaded) {
    try {
      await within(clock, TIMEOUT_MS, () => table.loaded, attributes.signal);
    } catch {
      throw admissionForbidden(attributes, "not yet ready to handle request");
    }
  }
  return table.webhooks();
}
