/** The content of a token for the issuer that signs it. */
export interface NamedObject {
  readonly name: string;
  readonly uid: string;
}

export interface TokenRequestSpec {
  readonly namespace: string;
  readonly serviceAccount: NamedObject;
  readonly pod?: NamedObject | undefined;
  readonly secret?: NamedObject | undefined;
  /** The node that the token is bound to, or that runs its pod. */
  readonly node?: NamedObject | undefined;
  readonly audiences: readonly string[];
  readonly expirationSeconds: number;
  /** Time after which the use of the token is recorded; undefined: never. */
  readonly warnAfterSeconds?: number | undefined;
  /** False before release 1.30, whose tokens have no id. */
  readonly hasId: boolean;
  readonly nowMs: number;
}

interface IssuedToken {
  readonly token: string;
  /** Empty if the token has no id. */
  readonly credentialId: string;
}

export type IssueToken = (spec: TokenRequestSpec) => IssuedToken;
