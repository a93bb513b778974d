/** Bearer tokens: whoever can tell whose they are. */
import type { User } from "./user.ts";

export interface TokenOwner {
  readonly user: User;
  /** Of the audiences that were asked for, those the token is meant for. */
  readonly audiences: readonly string[];
  /** What the audit event is told of the token. */
  readonly annotations?: Readonly<Record<string, string>>;
}

export type TokenAnswer =
  | TokenOwner
  /** Not a token of this kind: somebody else may know it. */
  | "unknown"
  /** A token of this kind that is not valid (any more); the reason is for a TokenReview, never for the caller itself. */
  | { readonly error: string };

/** A promise where the store must be asked. */
export type TokenAuthenticator = (token: string, audiences: readonly string[]) => TokenAnswer | Promise<TokenAnswer>;
