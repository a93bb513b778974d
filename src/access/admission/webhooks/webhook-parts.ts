/** The parts of a server that both webhook plugins need. */
import type { Clock } from "../../../base/clock.ts";
import type { Random } from "../../../base/random.ts";
import type { JsonObject } from "../../../meta/json.ts";
import type { ObjectReader } from "../../../meta/object-table.ts";
import type { Authorizer } from "../../auth/authorize.ts";
import type { WebhookMetricsOf } from "./metrics.ts";
import type { WebhookTable } from "./webhook-table.ts";

/**
 * POSTs a JSON text and resolves to the JSON object in the response. Otherwise rejects with an error whose message is
 * returned to clients.
 */
export type PostReview = (
  /** The webhook's clientConfig: url or service, and caBundle. */
  clientConfig: JsonObject,
  body: string,
  options: { readonly timeoutMs: number; readonly signal: AbortSignal },
) => Promise<JsonObject>;

export interface WebhookParts {
  readonly clock: Clock;
  readonly random: Random;
  readonly table: Pick<WebhookTable, "webhooks" | "isLoaded" | "loaded">;
  readonly objects: Pick<ObjectReader, "get" | "newest">;
  /** The authorizer for CEL expressions. If undefined, expressions that use it fail. */
  readonly authorizer: Authorizer | undefined;
  readonly ask: PostReview;
  readonly metrics: WebhookMetricsOf;
}
