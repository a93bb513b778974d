/**
 * The state of each object that clients have created. An object whose creation was acknowledged ("there") must exist
 * until a client requests its deletion.
 */
export type ObjectState =
  /** Its creation was requested, but the response does not show whether it exists. */
  | "perhaps"
  | "there"
  /** A client has requested its deletion. */
  | "leaving"
  | "gone";

export class KnownObjects {
  /** States of objects by path. */
  readonly #states = new Map<string, ObjectState>();

  set(path: string, state: ObjectState): void {
    this.#states.set(path, state);
  }

  get(path: string): ObjectState | undefined {
    return this.#states.get(path);
  }

  /** Paths of the objects in this state, in the order of their creation. */
  in(state: ObjectState): string[] {
    return [...this.#states].filter(([, one]) => one === state).map(([path]) => path);
  }
}
