/** Webhook configurations for tests, and webhooks that respond within the process. */
import { MetricsRegistry } from "../../../../../src/base/metrics.ts";
import type { JsonObject } from "../../../../../src/meta/json.ts";
import { readerOf } from "../plugins/attributes.ts";
import type { PostReview } from "../../../../../src/access/admission/webhooks/webhook-parts.ts";
import { createWebhookMetrics } from "../../../../../src/access/admission/webhooks/metrics.ts";
import type { MutatingParts } from "../../../../../src/access/admission/webhooks/mutating.ts";
import type { CompileConditions } from "../../../../../src/access/admission/webhooks/webhook.ts";
import { createWebhookTables, type WebhookTables } from "../../../../../src/access/admission/webhooks/webhook-table.ts";

/** The parts of an AdmissionReview that tests read. */
export interface Review {
  readonly apiVersion: string;
  readonly request: {
    readonly uid: string;
    readonly kind: { readonly version: string };
    readonly requestKind: { readonly version: string };
    readonly object: { readonly apiVersion: string; readonly metadata: { readonly labels?: JsonObject } };
    readonly oldObject: { readonly apiVersion: string };
  };
}

/** The response of a webhook to a review. If the function throws, the call of the webhook fails. */
export type WebhookReply = (review: Review, webhook: string) => JsonObject | Promise<JsonObject>;

export const EVERYTHING = { operations: ["*"], apiGroups: ["*"], apiVersions: ["*"], resources: ["*/*"] };

export function configuration(name: string, ...webhooks: readonly JsonObject[]): JsonObject {
  return { metadata: { name, uid: name, resourceVersion: "1" }, webhooks: webhooks.map(webhook) };
}

/** A webhook with the given fields and defaults for all others: its name is `a`, and its URL is its name. */
function webhook(given: JsonObject): JsonObject {
  const name = given["name"] ?? "a";
  return {
    ...{ name, clientConfig: { url: name }, rules: [EVERYTHING], sideEffects: "None" },
    ...{ admissionReviewVersions: ["v1"], failurePolicy: "Fail", timeoutSeconds: 5, ...given },
  };
}

export class FakeWebhooks {
  readonly requests: { readonly name: string; readonly review: Review; readonly timeoutMs: number }[] = [];
  readonly metrics = new MetricsRegistry();
  readonly tables: WebhookTables;
  /** Callbacks of timers that the test has not fired yet. */
  readonly waiting: (() => void)[] = [];
  readonly #answer: WebhookReply;

  constructor(response: WebhookReply, compile: CompileConditions = () => ({ evaluate: () => ({ kind: "match" }) })) {
    this.#answer = response;
    this.tables = createWebhookTables(compile);
  }

  readonly ask: PostReview = async ({ url }, body, { timeoutMs }) => {
    const review = JSON.parse(body) as Review;
    this.requests.push({ name: String(url), review, timeoutMs });
    return this.#answer(review, String(url));
  };

  parts(type: keyof WebhookTables): MutatingParts {
    let bytes = 0;
    const after = (_delayMs: number, callback: () => void): (() => void) => {
      this.waiting.push(callback);
      return () => undefined;
    };
    const clock = { now: () => 0, monotonic: () => 0, after };
    return {
      clock,
      ask: this.ask,
      table: this.tables[type],
      random: { float: () => 0.5, bytes: (length) => new Uint8Array(length).fill(bytes++) },
      metrics: createWebhookMetrics(this.metrics, clock),
      objects: readerOf({}),
      authorizer: undefined,
      decode: (object) => object,
    };
  }
}

export function allowed({ apiVersion, request }: Review, more: JsonObject = {}): JsonObject {
  return { apiVersion, kind: "AdmissionReview", response: { uid: request.uid, allowed: true, ...more } };
}

export function denied(review: Review, status?: JsonObject): JsonObject {
  return allowed(review, { allowed: false, ...(status === undefined ? {} : { status }) });
}

export function withPatch(review: Review, operations: unknown): JsonObject {
  return allowed(review, { patchType: "JSONPatch", patch: base64(JSON.stringify(operations)) });
}

export function base64(text: string): string {
  return Buffer.from(text).toString("base64");
}
