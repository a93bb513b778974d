/** The plugin ValidatingAdmissionWebhook: calls all applicable webhooks in parallel. */
import type { AdmissionPlugin, Attributes } from "../admission.ts";
import { StatusError } from "../../../meta/status-error.ts";
import { applicableVersion } from "./applicable.ts";
import { callWebhook } from "./call-webhook.ts";
import { applyFailurePolicy } from "./failure-policy.ts";
import { knownWebhooks, mayHaveWebhooks } from "./loaded-webhooks.ts";
import { versionsOf, type VersionedWrite } from "./versioned-write.ts";
import { requestEnded } from "./webhook-errors.ts";
import type { WebhookParts } from "./webhook-parts.ts";
import type { Webhook } from "./webhook.ts";

const FAILED_OPEN = "failed-open.validating.webhook.admission.k8s.io";

export function validatingAdmissionWebhook(parts: WebhookParts): AdmissionPlugin {
  return {
    name: "ValidatingAdmissionWebhook",
    handlesChange: true,
    handles: () => mayHaveWebhooks(parts),
    async validate(attributes) {
      const webhooks = await knownWebhooks(parts, attributes);
      if (webhooks.length > 0) await validate(parts, webhooks, attributes);
    },
  };
}

interface Call {
  readonly webhook: Webhook;
  readonly write: VersionedWrite;
}

async function validate(parts: WebhookParts, webhooks: readonly Webhook[], attributes: Attributes): Promise<void> {
  const inVersion = versionsOf(attributes);
  const calls: Call[] = [];
  for (const webhook of webhooks) {
    const version = await applicableVersion(parts, webhook, attributes, inVersion);
    if (version !== undefined) calls.push({ webhook, write: await inVersion(version) });
  }
  if (calls.length === 0) return;
  if (attributes.signal.aborted) throw requestEnded();
  const outcomes = await Promise.all(calls.map((call, index) => outcomeOf(parts, call, attributes, index)));
  // DIFFERS: kube-apiserver returns the denial that arrives first, not the first in the order of the webhooks.
  const rejection = outcomes.find((outcome) => outcome !== undefined);
  if (rejection !== undefined) throw rejection;
}

/** The error that rejects the write; undefined if the webhook allows the write or its failure is ignored. */
async function outcomeOf(
  parts: WebhookParts,
  { webhook, write }: Call,
  attributes: Attributes,
  index: number,
): Promise<StatusError | undefined> {
  const metrics = parts.metrics("validating");
  try {
    const asked = { attributes, write, isMutating: false };
    await metrics.observe(webhook, attributes.operation, () => callWebhook(parts, webhook, asked));
    return undefined;
  } catch (thrown) {
    return denialOf(() =>
      applyFailurePolicy(webhook, {
        thrown,
        attributes,
        metrics,
        failedOpenKey: `${FAILED_OPEN}/round_0_index_${index}`,
      }),
    );
  }
}

function denialOf(heed: () => void): StatusError | undefined {
  try {
    heed();
    return undefined;
  } catch (refusal) {
    return StatusError.from(refusal);
  }
}
