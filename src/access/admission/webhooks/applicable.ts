/** Decides whether a webhook is called for a write, and in which API version it receives the object. */
import type { Attributes, ServedVersion } from "../admission.ts";
import { forbidden } from "../../../meta/status-error.ts";
import { matchCriteria } from "../matching/criteria.ts";
import type { VersionedWrite } from "./versioned-write.ts";
import type { WebhookParts } from "./webhook-parts.ts";
import type { Webhook } from "./webhook.ts";

/**
 * Undefined if the webhook is not called. Throws a StatusError if its selectors cannot be evaluated, or if its match
 * conditions cannot be evaluated and its failures are not ignored.
 */
export async function applicableVersion(
  { objects, authorizer }: Pick<WebhookParts, "objects" | "authorizer">,
  webhook: Webhook,
  attributes: Attributes,
  inVersion: (version: ServedVersion) => Promise<VersionedWrite>,
): Promise<ServedVersion | undefined> {
  const version = await matchCriteria(webhook.criteria, attributes, objects);
  if (version === undefined || webhook.conditions === undefined) return version;
  const versioned = await inVersion(version);
  const outcome = webhook.conditions().evaluate(attributes, { authorizer, versioned });
  if (outcome.kind === "match") return version;
  if (outcome.kind === "mismatch" || webhook.ignoresFailures) return undefined;
  const { groupVersion, resource, name } = attributes;
  throw forbidden({ group: groupVersion.group, resource }, name, outcome.message);
}
