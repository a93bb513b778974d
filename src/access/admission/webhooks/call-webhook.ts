/** Calls one webhook for one write. */
import type { JsonObject } from "../../../meta/json.ts";
import type { Attributes } from "../admission.ts";
import { randomUuid } from "../../../base/random.ts";
import { messageOf } from "../../../base/within.ts";
import { qualifiedNameErrors } from "../../../meta/names.ts";
import { readResponse, type AdmissionResponse } from "./response.ts";
import { admissionReviewText } from "./review.ts";
import type { VersionedWrite } from "./versioned-write.ts";
import { denial, dryRunUnsupported, WebhookCallError } from "./webhook-errors.ts";
import type { WebhookParts } from "./webhook-parts.ts";
import type { Webhook } from "./webhook.ts";

type CallParts = Pick<WebhookParts, "ask" | "random">;

interface ReviewedWrite {
  readonly attributes: Attributes;
  readonly write: VersionedWrite;
  readonly isMutating: boolean;
}

/**
 * Returns the response if the webhook allows the write. Throws a WebhookCallError if the call fails; the failure policy
 * applies to it. Throws a StatusError if the webhook denies the write or does not support dry runs; the failure policy
 * does not apply to it.
 */
export async function callWebhook(
  parts: CallParts,
  webhook: Webhook,
  asked: ReviewedWrite,
): Promise<AdmissionResponse> {
  rejectSideEffects(webhook, asked.attributes);
  const response = await responseOf(parts, webhook, asked);
  passOnWarningsAndAnnotations(webhook, response, asked.attributes);
  if (!response.isAllowed) throw denial(webhook.name, response.status);
  return response;
}

const WITHOUT_SIDE_EFFECTS: ReadonlySet<string> = new Set(["None", "NoneOnDryRun"]);

function rejectSideEffects({ name, sideEffects }: Webhook, { dryRun }: Attributes): void {
  if (!dryRun || WITHOUT_SIDE_EFFECTS.has(sideEffects)) return;
  if (sideEffects === "") throw new WebhookCallError(name, "Webhook SideEffects is nil");
  throw dryRunUnsupported(name);
}

async function responseOf(
  { ask, random }: CallParts,
  webhook: Webhook,
  { attributes, write, isMutating }: ReviewedWrite,
): Promise<AdmissionResponse> {
  const { name, reviewVersion: version } = webhook;
  if (version === undefined)
    throw new WebhookCallError(
      name,
      "could not create admission objects: webhook does not accept known AdmissionReview versions (v1, v1beta1)",
    );
  const uid = randomUuid(random);
  const body = admissionReviewText({ version, uid, attributes, seen: write.version, ...write.texts() });
  const { timeoutMs, clientConfig } = webhook;
  const { signal } = attributes;
  let review: JsonObject;
  try {
    review = await unlessAborted(signal, () => ask(clientConfig, body, { timeoutMs, signal }));
  } catch (thrown) {
    throw new WebhookCallError(name, `failed to call webhook: ${messageOf(thrown)}`, thrown);
  }
  const read = readResponse(review, { version, uid, isMutating });
  if (read.kind === "failed") throw new WebhookCallError(name, read.why);
  return read.response;
}

/** Passes valid warnings and audit annotations on, even if the webhook denies the write. */
function passOnWarningsAndAnnotations(
  { name }: Webhook,
  { auditAnnotations, warnings }: AdmissionResponse,
  attributes: Attributes,
): void {
  for (const [key, value] of auditAnnotations) {
    const prefixed = `${name}/${key}`;
    if (!key.includes("/") && qualifiedNameErrors(prefixed).length === 0) attributes.annotate(prefixed, value);
  }
  // As kubernetes: a warning that a header cannot contain is dropped.
  for (const warning of warnings.slice(0, WARNINGS_MAX)) if (!CONTROL.test(warning)) attributes.warn(warning);
}

const CONTROL = /\p{Cc}/u;
/** A limit above the number of warnings that the response headers can hold. */
const WARNINGS_MAX = 1_000;

/** Rejects as soon as the signal aborts, without waiting for the work. */
async function unlessAborted<T>(signal: AbortSignal, work: () => Promise<T>): Promise<T> {
  if (signal.aborted) throw new Error("context canceled");
  const { promise: aborted, reject } = Promise.withResolvers<never>();
  const onAbort = (): void => reject(new Error("context canceled"));
  signal.addEventListener("abort", onAbort, { once: true });
  try {
    return await Promise.race([aborted, work()]);
  } finally {
    signal.removeEventListener("abort", onAbort);
  }
}
