/** Remembers the time since which each CRD has been known in its current state. */
import type { Clock } from "../../../base/clock.ts";
import { jsonEquals } from "../../../meta/json.ts";
import type { SeenCrd } from "./crd-status.ts";
import { DEFINITION_SETTLED_MS } from "./migration-limits.ts";

export class SeenCrds {
  readonly #clock: Clock;
  readonly #seen = new Map<string, { readonly is: SeenCrd; readonly sinceMs: number }>();

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** `name` is that of the StorageVersion object. */
  see(name: string, is: SeenCrd): void {
    if (!jsonEquals(this.#seen.get(name)?.is, is)) this.#seen.set(name, { is, sinceMs: this.#clock.monotonic() });
  }

  /** Milliseconds until every server must have seen the current state of the CRD; 0 or less if they have. */
  unsettledMs(name: string): number {
    const known = this.#seen.get(name);
    return known === undefined
      ? DEFINITION_SETTLED_MS
      : known.sinceMs + DEFINITION_SETTLED_MS - this.#clock.monotonic();
  }

  /** Returns whether the CRD was known. */
  forget(name: string): boolean {
    return this.#seen.delete(name);
  }
}
