/**
 * Assertions for invariants that only a programming error can break; never for input from the network, disk or clients.
 */
export function assert(condition: unknown, sentence: string): asserts condition {
  if (!condition) throw new Error(`assertion failed: ${sentence}`);
}

/** Returns the value; fails if it is null or undefined, which only a programming error can cause. */
export function must<T>(value: T | null | undefined, sentence: string): T {
  if (value === undefined || value === null) throw new Error(`assertion failed: ${sentence}`);
  return value;
}
