/** The resources that the namespace controller sees in its cluster, including those in doubt, controlled by a test. */
import type {
  ClusterResource,
  ClusterResources,
  Doubt,
} from "../../../../../src/cluster/controllers/cluster-resources.ts";

export class FixedResources implements ClusterResources {
  isOneServer = false;
  /** The result of `catchUp`. */
  isCurrent = true;
  readonly #listeners = new Set<() => void>();
  #served: readonly ClusterResource[];
  #doubts: readonly Doubt[] = [];

  constructor(served: readonly ClusterResource[]) {
    this.#served = served;
  }

  get listeners(): number {
    return this.#listeners.size;
  }

  served(): readonly ClusterResource[] {
    return this.#served;
  }

  doubts(): readonly Doubt[] {
    return this.#doubts;
  }

  catchUp(): Promise<boolean> {
    return Promise.resolve(this.isCurrent);
  }

  onChange(listener: () => void): () => void {
    this.#listeners.add(listener);
    return () => void this.#listeners.delete(listener);
  }

  /** Changes the resources and notifies all listeners. */
  change(to: { readonly served?: readonly ClusterResource[]; readonly doubts?: readonly Doubt[] } = {}): void {
    this.#served = to.served ?? this.#served;
    this.#doubts = to.doubts ?? this.#doubts;
    for (const listener of [...this.#listeners]) listener();
  }

  replace(resource: string, by: Partial<ClusterResource>): void {
    this.change({ served: this.#served.map((one) => (one.resource === resource ? { ...one, ...by } : one)) });
  }
}
