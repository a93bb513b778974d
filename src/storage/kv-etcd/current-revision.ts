/**
 * Linearizable reads of the newest revision, shared between callers.
 *
 * etcd may have processed a read in flight before the caller's last commit, so a caller that arrives meanwhile must not
 * share that read: it shares the next one. At most one read is in flight and one waits.
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
