/** Creates the webhook plugins with the ports that they need. */
import type { JsonObject } from "../../../meta/json.ts";
import { gatesOf } from "../../../objects/catalog/release-gates.ts";
import { parseWebhookResponse } from "../../webhook-client/webhook-response.ts";
import type { WebhookCallOptions } from "../../webhook-client/webhook-client.ts";
import type { AdmissionPlugin, ServedVersion } from "../admission.ts";
import { compileMatchConditions } from "../expressions/match-conditions.ts";
import { createWebhookMetrics } from "../webhooks/metrics.ts";
import { mutatingAdmissionWebhook } from "../webhooks/mutating.ts";
import { validatingAdmissionWebhook } from "../webhooks/validating.ts";
import { createWebhookTables } from "../webhooks/webhook-table.ts";
import type { AdmissionParts, Follow } from "./admission-parts.ts";
import type { Versions } from "./object-versions.ts";

export function createWebhookPlugins(
  parts: AdmissionParts,
  versions: Versions,
  follow: Follow,
): readonly AdmissionPlugin[] {
  const { env, config, metrics, authorization, objects } = parts;
  const gates = gatesOf(config.release);
  const tables = createWebhookTables((conditions) => compileMatchConditions(conditions, { gates }));
  follow("mutatingwebhookconfigurations", tables.mutating);
  follow("validatingwebhookconfigurations", tables.validating);
  const common = {
    clock: env.clock,
    random: env.random,
    objects,
    authorizer: authorization.authorization.authorize,
    ask: (clientConfig: JsonObject, body: string, options: WebhookCallOptions) =>
      postReview(parts, { ...options, clientConfig, body }),
    metrics: createWebhookMetrics(metrics, env.clock),
    decode: (object: JsonObject, version: ServedVersion) => versions.decode(object, version),
  };
  return [
    mutatingAdmissionWebhook({ ...common, table: tables.mutating }),
    validatingAdmissionWebhook({ ...common, table: tables.validating }),
  ];
}

async function postReview(
  { callWebhook }: AdmissionParts,
  { clientConfig, body, ...options }: WebhookCallOptions & { readonly clientConfig: JsonObject; readonly body: string },
): Promise<JsonObject> {
  const response = parseWebhookResponse(await callWebhook(clientConfig, body, options));
  if (typeof response === "string") throw new Error(response);
  return response;
}
