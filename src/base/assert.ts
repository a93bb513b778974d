/** For what only a programming error can break; never for input from the network, disk or clients. */
export function assert(condition: unknown, sentence: string): asserts condition {
  if (!condition) throw new Error(`assertion failed: ${sentence}`);
}
