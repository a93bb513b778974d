/**
 * Tracks the reinvocation of mutating plugins. If a webhook or policy changes the object, all mutating plugins are
 * invoked a second time, so that reinvocable webhooks and policies see changes that were made after their call.
 */
import { jsonEquals, type JsonObject } from "../../../meta/json.ts";

/**
 * The state of one write. A plugin requests the second invocation as soon as one of its webhooks or policies changes
 * the object; the admission chain then runs it. There is no third.
 */
export class Reinvocation {
  #isRequested = false;
  #isSecond = false;
  readonly #states = new Map<string, PluginReinvocation>();

  get isRequested(): boolean {
    return this.#isRequested;
  }

  get isSecond(): boolean {
    return this.#isSecond;
  }

  request(): void {
    this.#isRequested = true;
  }

  beginSecond(): void {
    this.#isSecond = true;
  }

  of(plugin: string): PluginReinvocation {
    let state = this.#states.get(plugin);
    if (state === undefined) this.#states.set(plugin, (state = new PluginReinvocation()));
    return state;
  }
}

/**
 * The webhooks or policies of one plugin that must be called again, because the object has changed after their call.
 */
class PluginReinvocation {
  #output: JsonObject | undefined;
  /** IDs of reinvocable webhooks or policies that were called after the last change of the object. */
  readonly #called = new Set<string>();
  readonly #outdated = new Set<string>();

  /**
   * Called at the start of the second invocation. If another plugin has changed the object since the end of the first
   * invocation, all reinvocable webhooks and policies must be called again.
   */
  resume(object: JsonObject | undefined): void {
    if (!jsonEquals(this.#output, object)) this.outdate();
  }

  isOutdated(id: string): boolean {
    return this.#outdated.has(id);
  }

  asked(id: string): void {
    this.#called.add(id);
  }

  outdate(): void {
    for (const id of this.#called) this.#outdated.add(id);
    this.#called.clear();
  }

  finish(object: JsonObject | undefined): void {
    this.#output = object;
  }
}
