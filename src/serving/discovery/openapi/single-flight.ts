interface SingleFlight<T> {
  /** Runs the work, or returns the result of the run in progress for this key. */
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
      // The callback always runs after flights.set(), even if the work is already done.
      const flight = work().finally(() => flights.delete(key));
      flights.set(key, flight);
      return flight;
    },
    async inProgress(key) {
      await flights.get(key);
    },
  };
}
