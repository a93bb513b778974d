/** MutatingAdmissionWebhook: calls the webhooks in order, each with the object that the previous one returned. */
import type { AdmissionPlugin, Attributes, ServedVersion } from "../admission.ts";
import { messageOf } from "../../../base/within.ts";
import { goQuote } from "../../../meta/go-quote.ts";
import { jsonEquals, stringAt, type JsonObject } from "../../../meta/json.ts";
import { formatGroupVersion } from "../../../meta/group-version.ts";
import { StatusError } from "../../../meta/status-error.ts";
import { applicableVersion } from "./applicable.ts";
import { callWebhook } from "./call-webhook.ts";
import { applyFailurePolicy } from "./failure-policy.ts";
import { knownWebhooks, mayHaveWebhooks } from "./loaded-webhooks.ts";
import { withReadableManagedFields } from "./managed-fields.ts";
import { patchAnnotation, patched, PatchProblem, readWebhookPatch } from "./patch.ts";
import { Reinvocation } from "./reinvocation.ts";
import type { AdmissionResponse } from "./response.ts";
import { ChangingWrite, type VersionedWrite } from "./versioned-write.ts";
import { internalError, WebhookCallError } from "./webhook-errors.ts";
import type { WebhookParts } from "./webhook-parts.ts";
import type { Webhook } from "./webhook.ts";

export interface MutatingParts extends WebhookParts {
  /**
   * Decodes a patched object as if it had been sent in that version: drops unknown fields and applies defaults. Throws
   * the decoder's error.
   */
  readonly decode: (object: JsonObject, version: ServedVersion) => Promise<JsonObject> | JsonObject;
}

/** Optional attributes that the caller of the plugins may set. */
export interface MutatedAttributes extends Attributes {
  /** Absent: there is one round. */
  readonly reinvocation?: Reinvocation | undefined;
  /** Annotates the audit event at levels that include the request object. */
  annotateRequest?(key: string, value: string): void;
}

const NAME = "MutatingAdmissionWebhook";

export function mutatingAdmissionWebhook(parts: MutatingParts): AdmissionPlugin {
  const dispatch = async (attributes: Attributes): Promise<JsonObject | undefined> => {
    const webhooks = await knownWebhooks(parts, attributes);
    return webhooks.length === 0 ? undefined : new Dispatch(parts, attributes).run(webhooks);
  };
  return {
    name: NAME,
    handlesChange: true,
    handles: () => mayHaveWebhooks(parts),
    mutate: dispatch,
    async validate(attributes) {
      // A write without an object, such as a delete, skips mutate, but its webhooks are called.
      if (attributes.object === undefined) await dispatch(attributes);
    },
  };
}

class Dispatch {
  readonly #parts: MutatingParts;
  readonly #attributes: MutatedAttributes;
  readonly #reinvocation: Reinvocation;
  readonly #write: ChangingWrite;

  constructor(parts: MutatingParts, attributes: MutatedAttributes) {
    this.#parts = parts;
    this.#attributes = attributes;
    this.#reinvocation = attributes.reinvocation ?? new Reinvocation();
    this.#write = new ChangingWrite(attributes);
  }

  async run(webhooks: readonly Webhook[]): Promise<JsonObject | undefined> {
    const state = this.#reinvocation.of(NAME);
    const { isSecond } = this.#reinvocation;
    if (isSecond) state.resume(this.#attributes.object);
    const inVersion = (version: ServedVersion): Promise<VersionedWrite> => this.#write.inVersion(version);
    for (const [index, webhook] of webhooks.entries()) {
      const { attributes } = this.#write;
      const version = await applicableVersion(this.#parts, webhook, attributes, inVersion);
      // A webhook that did not apply in the first round is not called in the second.
      if (version === undefined || (isSecond && !state.isOutdated(webhook.id))) continue;
      if (await this.#ask(webhook, await inVersion(version), index)) {
        state.outdate();
        this.#reinvocation.request();
      }
      if (webhook.isReinvocable) state.asked(webhook.id);
    }
    const result = await this.#result();
    state.finish(result ?? this.#attributes.object);
    return result;
  }

  async #result(): Promise<JsonObject | undefined> {
    const result = await this.#write.result();
    const { object: before } = this.#attributes;
    if (result === undefined || before === undefined) return result;
    return withReadableManagedFields(result, before, (text) => this.#attributes.warn(text));
  }

  /** Whether it has changed the object. */
  async #ask(webhook: Webhook, write: VersionedWrite, index: number): Promise<boolean> {
    const attributes = this.#attributes;
    const metrics = this.#parts.metrics("admit");
    const place = `round_${this.#reinvocation.isSecond ? 1 : 0}_index_${index}`;
    const { configuration, name } = webhook;
    let mutated = false;
    try {
      mutated = await metrics.observe(webhook, attributes.operation, async () => {
        const response = await callWebhook(this.#parts, webhook, { attributes, write, isMutating: true });
        return this.#patch(webhook, write, { response, place });
      });
    } catch (thrown) {
      const failedOpenKey = `failed-open.mutation.webhook.admission.k8s.io/${place}`;
      applyFailurePolicy(webhook, { thrown, attributes, failedOpenKey, metrics });
    } finally {
      const value = JSON.stringify({ configuration, webhook: name, mutated });
      attributes.annotate(`mutation.webhook.admission.k8s.io/${place}`, value);
    }
    return mutated;
  }

  async #patch(
    webhook: Webhook,
    write: VersionedWrite,
    { response, place }: { readonly response: AdmissionResponse; readonly place: string },
  ): Promise<boolean> {
    const operations = operationsOf(webhook, response);
    if (operations.length === 0) return false;
    const { object: before, version } = write;
    if (before === undefined)
      throw internalError(
        `admission webhook ${goQuote(webhook.name)} attempted to modify the object, which is not supported for this operation`,
      );
    if (response.patchType !== "JSONPatch")
      throw new WebhookCallError(webhook.name, `unsupported patch type ${goQuote(response.patchType)}`);
    const object = await this.#decode(before, operations, version);
    this.#write.replace(object);
    this.#attributes.annotateRequest?.(`patch.webhook.admission.k8s.io/${place}`, patchAnnotation(webhook, operations));
    // DIFFERS: for kube-apiserver, a patch without effect counts as a change if managedFields are from the same
    // request, because it holds their time with a higher precision than it serializes.
    return !jsonEquals(before, object);
  }

  async #decode(before: JsonObject, operations: readonly unknown[], version: ServedVersion): Promise<JsonObject> {
    try {
      const object = withKind(patched(before, operations), version);
      return await this.#parts.decode(object, version);
    } catch (thrown) {
      const isOther = thrown instanceof StatusError && thrown.reason !== "BadRequest";
      throw isOther ? thrown : internalError(messageOf(thrown).replace(NOT_HANDLED, ""), thrown);
    }
  }
}

/** The prefix of the decoder's message for a request body. */
const NOT_HANDLED = /^\S+ in version "[^"]*" cannot be handled as a \S+: /;

function operationsOf({ name }: Webhook, { patch }: AdmissionResponse): readonly unknown[] {
  if (patch.length === 0) return [];
  try {
    return readWebhookPatch(patch);
  } catch (thrown) {
    throw new WebhookCallError(name, `received undecodable patch in webhook response: ${messageOf(thrown)}`, thrown);
  }
}

/** Restores a removed kind or apiVersion; rejects a changed one. */
function withKind(object: JsonObject, { kind }: ServedVersion): JsonObject {
  const apiVersion = formatGroupVersion(kind);
  const given = { kind: stringAt(object, "kind"), apiVersion: stringAt(object, "apiVersion") };
  const is = { kind: given.kind || kind.kind, apiVersion: given.apiVersion || apiVersion };
  if (is.kind === kind.kind && is.apiVersion === apiVersion) return { ...object, ...is };
  // DIFFERS: kube-apiserver returns this for unknown kinds only, and fails later with another message for known ones.
  throw new PatchProblem(
    `no kind ${goQuote(is.kind)} is registered for version ${goQuote(is.apiVersion)} in scheme "pkg/api/legacyscheme/scheme.go:30"`,
  );
}
