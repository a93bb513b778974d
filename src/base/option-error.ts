/** An option has an invalid value; the message is one sentence for the operator. */
export class OptionError extends Error {
  override readonly name = "OptionError";
}

/** Runs a parser and rethrows its error as an OptionError with the same message. */
export function asOption<T>(work: () => T): T {
  try {
    return work();
  } catch (thrown) {
    throw new OptionError(thrown instanceof Error ? thrown.message : String(thrown));
  }
}
