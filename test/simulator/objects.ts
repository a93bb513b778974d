/**
 * The state of each object that clients have created. An object whose creation was acknowledged ("there") must exist
 * until a client requests its deletion, or the store is restored from a backup without it.
 */
import { leavingOf } from "./object-record.ts";
import type { JsonObject } from "../../src/meta/json.ts";

export type ObjectState =
  /** Its creation was requested, but the response does not show whether it exists. */
  | "perhaps"
  | "there"
  /** A client has requested its deletion. */
  | "leaving"
  | "gone"
  /** The store was restored from a backup that does not have it. */
  | "lost";

export class KnownObjects {
  /** States of objects by path. */
  readonly #states = new Map<string, ObjectState>();

  set(path: string, state: ObjectState): void {
    this.#states.set(path, state);
  }

  get(path: string): ObjectState | undefined {
    return this.#states.get(path);
  }

  /**
   * Decides the states by the content of a restored store. A request that was sent before may still be executed, so the
   * states "perhaps" and "leaving" remain where the store does not show more.
   */
  restore(storedAt: (path: string) => JsonObject | undefined): void {
    for (const [path, state] of this.#states) this.#states.set(path, restoredState(state, storedAt(path)));
  }

  /** Paths of the objects in this state, in the order of their creation. */
  in(state: ObjectState): string[] {
    return [...this.#states].filter(([, one]) => one === state).map(([path]) => path);
  }
}

function restoredState(state: ObjectState, stored: JsonObject | undefined): ObjectState {
  if (stored === undefined) return state === "there" || state === "leaving" ? "lost" : state;
  return state === "leaving" || leavingOf(stored) !== "no" ? "leaving" : "there";
}
