/**
 * Converts custom resources with the webhook of their CRD. The number and size of the calls are bounded, and an object
 * is not sent again while the same conversion is in flight, however many watches wait for it.
 */
import { must } from "../../../base/assert.ts";
import type { Clock } from "../../../base/clock.ts";
import { randomUuid, type Random } from "../../../base/random.ts";
import { messageOf } from "../../../base/within.ts";
import { formatGroupVersion, type GroupVersion } from "../../../meta/group-version.ts";
import { cloneJson, stringAt, type JsonObject } from "../../../meta/json.ts";
import { StatusError } from "../../../meta/status-error.ts";
import type { Crd } from "../crd.ts";
import { inBatches } from "./batches.ts";
import { acceptConverted } from "./converted-object.ts";
import { readReview, conversionReviewText, reviewVersionOf } from "./review.ts";
import { Slots } from "./slots.ts";
import { parseWebhookResponse } from "../../../access/webhook-client/webhook-response.ts";
import type { CallWebhook } from "../../../access/webhook-client/webhook-client.ts";

interface WebhookConversionParts {
  readonly callWebhook: CallWebhook;
  readonly clock: Clock;
  readonly random: Random;
}

export type Convert = (objects: readonly JsonObject[], to: GroupVersion) => Promise<JsonObject[]>;

/** As kubernetes: the timeout of one call. */
const CALL_TIMEOUT_MS = 30_000;
/** Maximum number of concurrent calls for one CRD, over all requests. */
const CALLS_MAX = 16;
/** Maximum number of concurrent calls for one request. */
const CALLS_PER_REQUEST_MAX = 4;
/**
 * Limits of one call: as many objects as clients usually list at a time, and as many characters as a request body may
 * have.
 */
const BATCH_LIMITS = { objectsMax: 500, charactersMax: 3 * 1024 * 1024 } as const;

/**
 * Creates the conversion function of a CRD. It throws only StatusErrors, and returns objects already in the desired
 * version unchanged.
 */
export function webhookConversion(parts: WebhookConversionParts): (definition: Crd) => Convert {
  const made = new WeakMap<Crd, Convert>();
  return (crd) => {
    let convert = made.get(crd);
    if (convert === undefined) {
      const converter = new WebhookConverter(parts, crd);
      made.set(crd, (convert = (objects, to) => converter.convert(objects, to)));
    }
    return convert;
  };
}

/** An object that waits for its conversion by the webhook. */
interface Pending {
  readonly original: JsonObject;
  readonly text: string;
  readonly done: PromiseWithResolvers<JsonObject>;
}

class WebhookConverter {
  readonly #parts: WebhookConversionParts;
  readonly #definition: Crd;
  readonly #slots: Slots;
  /** Conversions in flight, by desired version and JSON text of the object. */
  readonly #pending = new Map<string, Promise<JsonObject>>();

  constructor(parts: WebhookConversionParts, definition: Crd) {
    this.#parts = parts;
    this.#definition = definition;
    this.#slots = new Slots(parts.clock, CALLS_MAX);
  }

  async convert(objects: readonly JsonObject[], to: GroupVersion): Promise<JsonObject[]> {
    const apiVersion = formatGroupVersion(to);
    const asked: Pending[] = [];
    const responses = objects.map((original) =>
      stringAt(original, "apiVersion") === apiVersion ? Promise.resolve(original) : this.#await(original, to, asked),
    );
    const converted = Promise.all(responses);
    // `converted` may reject while other calls are still in flight. The caller receives the rejection at the return
    // below; this handler keeps it from being reported as unhandled before that.
    converted.catch(() => undefined);
    await this.#askAll(asked, to);
    return converted;
  }

  /** Joins a conversion in flight, or adds the object to `asked`, the objects to be sent. */
  #await(original: JsonObject, to: GroupVersion, asked: Pending[]): Promise<JsonObject> {
    const text = JSON.stringify(original);
    const key = `${to.version} ${text}`;
    const open = this.#pending.get(key);
    if (open !== undefined) return open.then(cloneJson);
    const done = Promise.withResolvers<JsonObject>();
    const forget = (): boolean => this.#pending.delete(key);
    done.promise.then(forget, forget);
    this.#pending.set(key, done.promise);
    asked.push({ original, text, done });
    return done.promise;
  }

  async #askAll(asked: readonly Pending[], to: GroupVersion): Promise<void> {
    const batches = inBatches(asked, BATCH_LIMITS).values();
    let failed: unknown;
    const work = async (): Promise<void> => {
      for (const batch of batches)
        if (failed === undefined) failed = await this.#settle(batch, to);
        else rejectAll(batch, failed);
    };
    await Promise.all(Array.from({ length: CALLS_PER_REQUEST_MAX }, work));
  }

  /**
   * Sends a batch, and settles the promise of each of its objects. Never rejects; returns the error of a failed call.
   */
  async #settle(batch: readonly Pending[], to: GroupVersion): Promise<unknown> {
    try {
      const converted = await this.#ask(batch, to);
      for (const [index, { original, done }] of batch.entries()) {
        const result = acceptConverted(converted[index], { original, to, index });
        if (result.kind === "accepted") done.resolve(result.object);
        else done.reject(result.isBare === true ? failure(result.why) : failure(`${subject(original)} ${result.why}`));
      }
      return undefined;
    } catch (thrown) {
      rejectAll(batch, thrown);
      return thrown;
    }
  }

  async #ask(batch: readonly Pending[], to: GroupVersion): Promise<readonly unknown[]> {
    const { conversion } = this.#definition;
    const version = conversion.strategy === "Webhook" ? reviewVersionOf(conversion.reviewVersions) : undefined;
    if (version === undefined || conversion.strategy !== "Webhook")
      throw failure("no supported conversion review versions");
    const uid = randomUuid(this.#parts.random);
    const objects = batch.map(({ text }) => text);
    const about = subject(must(batch[0], "a batch has objects").original);
    const text = conversionReviewText({ version, uid, desiredApiVersion: formatGroupVersion(to), objects });
    const review = await this.#call(conversion.clientConfig, text, about);
    const response = readReview(review, { version, uid });
    if (response.kind === "failed") throw failure(`${about} failed: ${response.why}`);
    if (response.objects.length !== batch.length)
      throw failure(`${about} returned ${response.objects.length} objects, expected ${batch.length}`);
    return response.objects;
  }

  async #call(clientConfig: JsonObject, text: string, about: string): Promise<JsonObject> {
    const timeoutMs = CALL_TIMEOUT_MS;
    if (!(await this.#slots.take(timeoutMs)))
      throw failure(`${about} failed: timed out waiting for one of ${CALLS_MAX} concurrent calls to end`);
    try {
      const response = parseWebhookResponse(await this.#parts.callWebhook(clientConfig, text, { timeoutMs }));
      if (typeof response === "string") throw failure(`${about} failed: ${response}`);
      return response;
    } catch (thrown) {
      throw thrown instanceof StatusError ? thrown : failure(`${about} failed: ${messageOf(thrown)}`, thrown);
    } finally {
      this.#slots.release();
    }
  }
}

function rejectAll(batch: readonly Pending[], why: unknown): void {
  for (const { done } of batch) done.reject(why);
}

/** As kubernetes: status 500 without a reason. */
function failure(message: string, cause?: unknown): StatusError {
  return new StatusError("", message, { cause });
}

function subject(object: JsonObject): string {
  return `conversion webhook for ${stringAt(object, "apiVersion")}, Kind=${stringAt(object, "kind")}`;
}
