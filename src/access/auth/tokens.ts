/** The port of token authenticators. */
import type { User } from "./user.ts";

export interface TokenOwner {
  readonly user: User;
  /** The requested audiences for which the token is valid. */
  readonly audiences: readonly string[];
  /** Annotations for the audit event. */
  readonly annotations?: Readonly<Record<string, string>>;
}

export type TokenResult =
  | TokenOwner
  /** Not a token of this kind; another authenticator may accept it. */
  | "unknown"
  /** A token of this kind that is not valid; a TokenReview shows the reason, a rejected request does not. */
  | { readonly error: string };

/** Returns a promise if it must read the store. */
export type TokenAuthenticator = (token: string, audiences: readonly string[]) => TokenResult | Promise<TokenResult>;
