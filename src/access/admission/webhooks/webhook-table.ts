/** Keeps the webhooks of all mutating or of all validating configurations, in kubernetes' order. */
import { objectAt, stringAt, type JsonObject } from "../../../meta/json.ts";
import type { ObjectTable } from "../../../meta/object-table.ts";
import { isSameRevision } from "../same-revision.ts";
import { readWebhooks, type CompileConditions, type Webhook } from "./webhook.ts";

export interface WebhookTable extends ObjectTable {
  /** True after all stored configurations have been read once. */
  readonly isLoaded: boolean;
  readonly loaded: Promise<void>;
  /** All webhooks, ordered by the name of their configuration, then by their position in it. */
  webhooks(): readonly Webhook[];
}

export interface WebhookTables {
  /** Filled by a watch on mutatingwebhookconfigurations.admissionregistration.k8s.io */
  readonly mutating: WebhookTable;
  /** Filled by a watch on validatingwebhookconfigurations.admissionregistration.k8s.io */
  readonly validating: WebhookTable;
}

export function createWebhookTables(compile: CompileConditions): WebhookTables {
  return { mutating: new Table(compile), validating: new Table(compile) };
}

interface Configuration {
  readonly object: JsonObject;
  readonly webhooks: readonly Webhook[];
}

class Table implements WebhookTable {
  readonly #compile: CompileConditions;
  #configurations = new Map<string, Configuration>();
  #ordered: readonly Webhook[] | undefined = [];
  #isLoaded = false;
  readonly #loaded = Promise.withResolvers<void>();

  constructor(compile: CompileConditions) {
    this.#compile = compile;
  }

  get isLoaded(): boolean {
    return this.#isLoaded;
  }

  get loaded(): Promise<void> {
    return this.#loaded.promise;
  }

  reset(objects: readonly JsonObject[]): void {
    const before = this.#configurations;
    this.#configurations = new Map();
    for (const object of objects) this.#set(object, before);
    this.#ordered = undefined;
    this.#isLoaded = true;
    this.#loaded.resolve();
  }

  put(object: JsonObject): void {
    this.#set(object, this.#configurations);
    this.#ordered = undefined;
  }

  remove(_namespace: string, name: string): void {
    this.#configurations.delete(name);
    this.#ordered = undefined;
  }

  webhooks(): readonly Webhook[] {
    return (this.#ordered ??= [...this.#configurations]
      .sort(([left], [right]) => (left < right ? -1 : 1))
      .flatMap(([, { webhooks }]) => webhooks));
  }

  /** Parses the configuration, unless this revision is already known. */
  #set(object: JsonObject, known: ReadonlyMap<string, Configuration>): void {
    const name = stringAt(objectAt(object, "metadata"), "name");
    const before = known.get(name);
    const isKnown = before !== undefined && isSameRevision(before.object, object);
    const webhooks = isKnown ? before.webhooks : readWebhooks(object, this.#compile);
    this.#configurations.set(name, { object, webhooks });
  }
}
