/** A command line that the benchmark cannot use. */
export class UsageError extends Error {
  override readonly name = "UsageError";
}
