/** The resources that the garbage collector sees in its cluster, controlled by a test. */
import type {
  ClusterResource,
  ClusterResources,
  Doubt,
} from "../../../../../src/cluster/controllers/cluster-resources.ts";

export const ALL_VERBS: ReadonlySet<string> = new Set(["create", "delete", "get", "list", "patch", "update", "watch"]);

export class ManualResources implements ClusterResources {
  isOneServer = false;
  /** The result of `catchUp`. */
  isCurrent = true;
  catchUps = 0;
  #served: readonly ClusterResource[];
  #doubts: readonly Doubt[] = [];
  readonly #listeners = new Set<() => void>();

  constructor(served: readonly ClusterResource[]) {
    this.#served = served;
  }

  served(): readonly ClusterResource[] {
    return this.#served;
  }

  doubts(): readonly Doubt[] {
    return this.#doubts;
  }

  catchUp(): Promise<boolean> {
    this.catchUps++;
    return Promise.resolve(this.isCurrent);
  }

  onChange(listener: () => void): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  change({
    served = this.#served,
    doubts = this.#doubts,
  }: Partial<Record<"served", readonly ClusterResource[]>> & { readonly doubts?: readonly Doubt[] }): void {
    this.#served = served;
    this.#doubts = doubts;
    for (const listener of this.#listeners) listener();
  }
}
