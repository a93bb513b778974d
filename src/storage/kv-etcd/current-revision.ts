/**
 * Reads the newest revision (linearizable), and lets callers share one read.
 *
 * A caller must not share a read that is already in flight, because etcd may have processed that read before the
 * caller's last commit; the caller shares the next read. At most one read is in flight and one waits. The next read
 * starts one turn of the event loop later, so that requests that have arrived meanwhile share it, too.
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
      if (this.#next === undefined) this.#isInFlight = false;
      else setImmediate(() => this.#startNext());
    }
  }

  #startNext(): void {
    const next = this.#next;
    this.#next = undefined;
    if (next !== undefined) this.#start().then(next.resolve, next.reject);
  }
}
