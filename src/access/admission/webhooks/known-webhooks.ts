/** The webhooks there are, once all of them are known: until then nobody can say what they would refuse. */
import type { Attributes } from "../admission.ts";
import type { Clock } from "../../../base/clock.ts";
import { within } from "../../../base/within.ts";
import { isExemptFromWebhooks } from "../matching/exemptions.ts";
import { refused } from "../plugins/refuse.ts";
import type { WebhookTable } from "./webhook-table.ts";
import type { Webhook } from "./webhook.ts";

export interface KnownParts {
  readonly clock: Clock;
  readonly table: Pick<WebhookTable, "webhooks" | "isLoaded" | "loaded">;
}

/** As kubernetes. */
const PATIENCE_MS = 10_000;

export function mayHaveWebhooks({ table }: KnownParts): boolean {
  return !table.isLoaded || table.webhooks().length > 0;
}

/** Those that may be asked about such a write. Throws a StatusError. */
export async function knownWebhooks({ clock, table }: KnownParts, attributes: Attributes): Promise<readonly Webhook[]> {
  if (isExemptFromWebhooks(attributes)) return [];
  if (!table.isLoaded) {
    try {
      await within(clock, PATIENCE_MS, () => table.loaded, attributes.signal);
    } catch {
      throw refused(attributes, "not yet ready to handle request");
    }
  }
  return table.webhooks();
}
