/** Why a mutation cannot be made; the message is for clients, and the failure policy says what comes of it. */
export class MutationError extends Error {
  override readonly name = "MutationError";
}
