/** For what only a programming error can break; never for input from the network, disk or clients. */
export function assert(condition: unknown, sentence: string): asserts condition {
  if (!condition) throw new Error(`assertion failed: ${sentence}`);
}

/** The value, where only a programming error can leave it undefined. */
export function must<T>(value: T | null | undefined, sentence: string): T {
  if (value === undefined || value === null) throw new Error(`assertion failed: ${sentence}`);
  return value;
}
