/** Mutating admission is asked a second time about one write when what was asked later has changed the object. */
import { jsonEquals, type JsonObject } from "../../../meta/json.ts";

/** One for each write. Whoever asks the plugins begins a second round, the last one, when one was requested. */
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

/** Which of a plugin's webhooks, or policies, have seen an object that is not the last one. */
class PluginReinvocation {
  #output: JsonObject | undefined;
  /** Have seen it, and want to see it again once it has changed. */
  readonly #asked = new Set<string>();
  readonly #outdated = new Set<string>();

  /** The second round begins: others may have changed the object since. */
  resume(object: JsonObject | undefined): void {
    if (!jsonEquals(this.#output, object)) this.outdate();
  }

  isOutdated(id: string): boolean {
    return this.#outdated.has(id);
  }

  asked(id: string): void {
    this.#asked.add(id);
  }

  outdate(): void {
    for (const id of this.#asked) this.#outdated.add(id);
    this.#asked.clear();
  }

  finish(object: JsonObject | undefined): void {
    this.#output = object;
  }
}
