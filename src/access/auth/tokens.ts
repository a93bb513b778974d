/** The port of token authenticators, which determine the user of a bearer token. */
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
  /** The token is not of the kind that this authenticator knows; another authenticator may accept it. */
  | "unknown"
  /** The token is of this kind but not valid. A TokenReview returns the error; a request is rejected without it. */
  | { readonly error: string };

/** Returns a promise if the authenticator must read the store. */
export type TokenAuthenticator = (token: string, audiences: readonly string[]) => TokenResult | Promise<TokenResult>;
