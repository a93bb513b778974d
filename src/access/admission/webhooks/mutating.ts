/**
 * The plugin MutatingAdmissionWebhook: calls the webhooks in order, each with the object that results from the previous
 * one.
 */
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
   * Decodes a patched object as if a client had sent it in this version: drops unknown fields and applies defaults.
   * Throws the error of the decoder.
   */
  readonly decode: (object: JsonObject, version: ServedVersion) => Promise<JsonObject> | JsonObject;
}

/** The attributes of a write, with optional ones that only mutating plugins use. */
export interface MutatedAttributes extends Attributes {
  /** Shared by both invocations of the mutating plugins. If absent, the plugins are invoked only once. */
  readonly reinvocation?: Reinvocation | undefined;
  /** Annotates the audit event, but only if its level includes the request object. */
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
      // A write without an object, such as a delete, is not mutated. Its webhooks are called here, because they may
      // deny it.
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
      // In the second invocation, only reinvocable webhooks are called, and only if the object has changed after their
      // last call.
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

  /** Calls the webhook and applies its patch. Returns whether the object has changed. */
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
    // DIFFERS: if the request itself set managedFields, kube-apiserver treats even a patch without effect as a change,
    // because it compares their times with a higher precision than it serializes.
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

/** The beginning of the message for a request body that cannot be decoded. Kubernetes does not send it here. */
const NOT_HANDLED = /^\S+ in version "[^"]*" cannot be handled as a \S+: /;

function operationsOf({ name }: Webhook, { patch }: AdmissionResponse): readonly unknown[] {
  if (patch.length === 0) return [];
  try {
    return readWebhookPatch(patch);
  } catch (thrown) {
    throw new WebhookCallError(name, `received undecodable patch in webhook response: ${messageOf(thrown)}`, thrown);
  }
}

/** Restores kind and apiVersion if the patch has removed them; throws if the patch has changed them. */
function withKind(object: JsonObject, { kind }: ServedVersion): JsonObject {
  const apiVersion = formatGroupVersion(kind);
  const given = { kind: stringAt(object, "kind"), apiVersion: stringAt(object, "apiVersion") };
  const is = { kind: given.kind || kind.kind, apiVersion: given.apiVersion || apiVersion };
  if (is.kind === kind.kind && is.apiVersion === apiVersion) return { ...object, ...is };
  // DIFFERS: kube-apiserver returns this message only if the new kind is unknown; for a known kind, it fails later with
  // another message.
  throw new PatchProblem(
    `no kind ${goQuote(is.kind)} is registered for version ${goQuote(is.apiVersion)} in scheme "pkg/api/legacyscheme/scheme.go:30"`,
  );
}
