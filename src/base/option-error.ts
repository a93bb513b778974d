/** A value nobody can use; the message is one sentence for the operator. */
export class OptionError extends Error {
  override readonly name = "OptionError";
}

/** What a parser of its own says about a value, said as an option's error. */
export function asOption<T>(work: () => T): T {
  try {
    return work();
  } catch (thrown) {
    throw new OptionError(thrown instanceof Error ? thrown.message : String(thrown));
  }
}
