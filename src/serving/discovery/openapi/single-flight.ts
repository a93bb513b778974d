interface SingleFlight<T> {
  /** Does the work, unless it is under way for this key: then its result counts. */
  run(key: string, work: () => Promise<T>): Promise<T>;
  /** Until what is under way for this key has ended. */
  underWay(key: string): Promise<void>;
}

export function createSingleFlight<T>(): SingleFlight<T> {
  const flights = new Map<string, Promise<T>>();
  return {
    run(key, work) {
      const known = flights.get(key);
      if (known !== undefined) return known;
      // The callback runs later than set(), however soon the work is done.
      const flight = work().finally(() => flights.delete(key));
      flights.set(key, flight);
      return flight;
    },
    async underWay(key) {
      await flights.get(key);
    },
  };
}
