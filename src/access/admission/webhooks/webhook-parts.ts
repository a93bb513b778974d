/** What the two webhook plugins need of the server, and the functions that they share. */
import type { Clock } from "../../../base/clock.ts";
import type { Random } from "../../../base/random.ts";
import type { JsonObject } from "../../../meta/json.ts";
import type { ObjectReader } from "../../../meta/object-table.ts";
import type { Authorizer } from "../../auth/authorize.ts";
import type { WebhookMetricsOf } from "./metrics.ts";
import type { WebhookTable } from "./webhook-table.ts";

/** POST of a JSON text. Rejects with an error whose message is for clients: why there is no JSON object to be had. */
export type AskWebhook = (
  /** Of the webhook: url or service, and caBundle. */
  clientConfig: JsonObject,
  body: string,
  options: { readonly timeoutMs: number; readonly signal: AbortSignal },
) => Promise<JsonObject>;

export interface WebhookParts {
  readonly clock: Clock;
  readonly random: Random;
  readonly table: Pick<WebhookTable, "webhooks" | "isLoaded" | "loaded">;
  readonly objects: Pick<ObjectReader, "get" | "newest">;
  /** For expressions that check what a user may do; undefined: such expressions fail. */
  readonly authorizer: Authorizer | undefined;
  readonly ask: AskWebhook;
  readonly metrics: WebhookMetricsOf;
}
