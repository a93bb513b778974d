/** The objects that clients have created: an acknowledged object exists until a client deletes it. */
export type ObjectState =
  /** Requested, without a definite response. */
  | "perhaps"
  | "there"
  /** A client has requested its deletion. */
  | "leaving"
  | "gone";

export class KnownObjects {
  /** State by path. */
  readonly #states = new Map<string, ObjectState>();

  set(path: string, state: ObjectState): void {
    this.#states.set(path, state);
  }

  get(path: string): ObjectState | undefined {
    return this.#states.get(path);
  }

  /** Paths in the order of their creation. */
  in(state: ObjectState): string[] {
    return [...this.#states].filter(([, one]) => one === state).map(([path]) => path);
  }
}
