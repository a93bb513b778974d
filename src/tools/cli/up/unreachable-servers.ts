/**
 * Keeps the reasons why servers of `evenkeel up` cannot reach each other, as the servers themselves report them, for the
 * status line. `evenkeel up` sees only that a server responds to it, not that a partition separates it from its peers.
 */
import type { Backend } from "./load-balancer.ts";
import type { SeenServer } from "./readiness.ts";

export class UnreachableServers {
  #reasons: ReadonlyMap<string, string> = new Map();
  #reading: Promise<void> | undefined;

  /** Asks these servers about their peers. A second call before the end of the first waits for the same responses. */
  refresh(backends: readonly Backend[], peersOf: (backend: Backend) => Promise<readonly SeenServer[]>): Promise<void> {
    this.#reading ??= this.#read(backends, peersOf).finally(() => (this.#reading = undefined));
    return this.#reading;
  }

  /** The reason that the first server reports which cannot reach this one; undefined if all can. */
  reasonFor(id: string): string | undefined {
    return this.#reasons.get(id);
  }

  async #read(
    backends: readonly Backend[],
    peersOf: (backend: Backend) => Promise<readonly SeenServer[]>,
  ): Promise<void> {
    const reports = await Promise.all(backends.map((backend) => peersOf(backend).catch((): SeenServer[] => [])));
    const reasons = new Map<string, string>();
    for (const { id, unreachableBecause } of reports.flat())
      if (unreachableBecause !== undefined && !reasons.has(id)) reasons.set(id, unreachableBecause);
    this.#reasons = reasons;
  }
}
