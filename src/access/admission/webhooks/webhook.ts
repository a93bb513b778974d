/** Parses the webhooks of a configuration, once for each revision of the configuration. */
import type { ReviewVersion } from "../../webhook-client/webhook-client.ts";
import { objectAt, stringAt, stringsAt, type JsonObject, numberAt, objectsAt } from "../../../meta/json.ts";
import type { MatchConditions } from "../expressions/match-conditions.ts";
import { readWebhookCriteria, type Criteria } from "../matching/criteria.ts";

export interface Webhook {
  /** Unique among all mutating or all validating webhooks, although their names need not be unique. */
  readonly id: string;
  readonly name: string;
  readonly configuration: string;
  readonly clientConfig: JsonObject;
  readonly criteria: Criteria;
  /** The match conditions, compiled on the first call; undefined if there are none. */
  readonly conditions: (() => MatchConditions) | undefined;
  /**
   * The first AdmissionReview version that both the webhook and this server support, in the order of the webhook;
   * undefined if there is none.
   */
  readonly reviewVersion: ReviewVersion | undefined;
  readonly ignoresFailures: boolean;
  readonly sideEffects: string;
  readonly timeoutMs: number;
  /** True if the reinvocationPolicy is IfNeeded. */
  readonly isReinvocable: boolean;
}

export type CompileConditions = (conditions: readonly JsonObject[]) => MatchConditions;

/** The default in kubernetes. */
const TIMEOUT_SECONDS = 10;

export function readWebhooks(configuration: JsonObject, compile: CompileConditions): readonly Webhook[] {
  const name = stringAt(objectAt(configuration, "metadata"), "name");
  const seen = new Map<string, number>();
  return objectsAt(configuration, "webhooks").map((webhook) => {
    const own = stringAt(webhook, "name");
    const count = seen.get(own) ?? 0;
    seen.set(own, count + 1);
    return readWebhook(webhook, { id: `${name}/${own}/${count}`, configuration: name, compile });
  });
}

function readWebhook(
  webhook: JsonObject,
  about: Pick<Webhook, "id" | "configuration"> & { readonly compile: CompileConditions },
): Webhook {
  const { id, configuration, compile } = about;
  const conditions = objectsAt(webhook, "matchConditions");
  return {
    id,
    configuration,
    name: stringAt(webhook, "name"),
    clientConfig: objectAt(webhook, "clientConfig"),
    criteria: readWebhookCriteria(webhook),
    conditions: conditions.length === 0 ? undefined : once(() => compile(conditions)),
    reviewVersion: stringsAt(webhook, "admissionReviewVersions").find(isReviewVersion),
    ignoresFailures: stringAt(webhook, "failurePolicy") === "Ignore",
    sideEffects: stringAt(webhook, "sideEffects"),
    timeoutMs: (numberAt(webhook, "timeoutSeconds") ?? TIMEOUT_SECONDS) * 1_000,
    isReinvocable: stringAt(webhook, "reinvocationPolicy") === "IfNeeded",
  };
}

function isReviewVersion(version: string): version is ReviewVersion {
  return version === "v1" || version === "v1beta1";
}

function once<T>(make: () => T): () => T {
  let made: { readonly value: T } | undefined;
  return () => (made ??= { value: make() }).value;
}
