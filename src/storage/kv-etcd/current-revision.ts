/**
 * The linearizable question "which revision is the newest", asked by many and answered together.
 *
 * A question that is already under way may have been answered inside etcd before the caller's last
 * commit, so whoever comes meanwhile shares the next one. At most one is in flight and one waits.
 */
export class CurrentRevision {
  readonly #ask: () => Promise<number>;
  #isInFlight = false;
  #next: PromiseWithResolvers<number> | undefined;

  constructor(ask: () => Promise<number>) {
    this.#ask = ask;
  }

  query(): Promise<number> {
    if (!this.#isInFlight) return this.#start();
    this.#next ??= Promise.withResolvers();
    return this.#next.promise;
  }

  async #start(): Promise<number> {
    this.#isInFlight = true;
    try {
      return await this.#ask();
    } finally {
      this.#isInFlight = false;
      const next = this.#next;
      this.#next = undefined;
      if (next !== undefined) this.#start().then(next.resolve, next.reject);
    }
  }
}
