/** The objects that clients have created: an acknowledged object exists until a client deletes it. */
export type ObjectState =
  /** Asked for, and not heard of since. */
  | "perhaps"
  | "there"
  /** Somebody has asked for its deletion. */
  | "leaving"
  | "gone";

export class KnownObjects {
  /** By path. */
  readonly #states = new Map<string, ObjectState>();

  set(path: string, state: ObjectState): void {
    this.#states.set(path, state);
  }

  get(path: string): ObjectState | undefined {
    return this.#states.get(path);
  }

  /** In the order in which they were made. */
  in(state: ObjectState): string[] {
    return [...this.#states].filter(([, one]) => one === state).map(([path]) => path);
  }
}
