/** The error of a failed mutation. Its message is returned to the client, unless the failurePolicy is Ignore. */
export class MutationError extends Error {
  override readonly name = "MutationError";
}
