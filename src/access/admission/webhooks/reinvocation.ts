/** Tracks the second round of mutating admission, which runs if a later plugin has changed the object. */
import { jsonEquals, type JsonObject } from "../../../meta/json.ts";

/** One per write. The caller of the plugins starts the second and last round if it was requested. */
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

/** The webhooks or policies of a plugin that have not seen the last version of the object. */
class PluginReinvocation {
  #output: JsonObject | undefined;
  /** Reinvocable ones that have been called and must be called again if the object changes. */
  readonly called = new Set<string>();
  readonly #outdated = new Set<string>();

  /** Starts the second round: other plugins may have changed the object since. */
  resume(object: JsonObject | undefined): void {
    if (!jsonEquals(this.#output, object)) this.outdate();
  }

  isOutdated(id: string): boolean {
    return this.#outdated.has(id);
  }

  asked(id: string): void {
    this.called.add(id);
  }

  outdate(): void {
    for (const id of this.called) this.#outdated.add(id);
    this.called.clear();
  }

  finish(object: JsonObject | undefined): void {
    this.#output = object;
  }
}
