/** Lets concurrent callers with the same key share one run of asynchronous work. */

interface SingleFlight<T> {
  /** Runs `work`, or returns the promise of the run in progress for this key. */
  run(key: string, work: () => Promise<T>): Promise<T>;
  /** Waits until the run in progress for this key has ended. */
  inProgress(key: string): Promise<void>;
}

export function createSingleFlight<T>(): SingleFlight<T> {
  const flights = new Map<string, Promise<T>>();
  return {
    run(key, work) {
      const known = flights.get(key);
      if (known !== undefined) return known;
      // The callback always runs after flights.set(), even if the work has already ended.
      const flight = work().finally(() => flights.delete(key));
      flights.set(key, flight);
      return flight;
    },
    async inProgress(key) {
      await flights.get(key);
    },
  };
}
