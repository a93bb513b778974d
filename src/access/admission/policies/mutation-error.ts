/** The error of a failed mutation. Its message is shown to clients; the failure policy decides how to proceed. */
export class MutationError extends Error {
  override readonly name = "MutationError";
}
