/** What a token is to contain, for the issuer that signs it. */
export interface NamedObject {
  readonly name: string;
  readonly uid: string;
}

export interface TokenRequestSpec {
  readonly namespace: string;
  readonly serviceAccount: NamedObject;
  readonly pod?: NamedObject | undefined;
  readonly secret?: NamedObject | undefined;
  /** What the token is bound to, or where its pod runs. */
  readonly node?: NamedObject | undefined;
  readonly audiences: readonly string[];
  readonly expirationSeconds: number;
  /** When its use is to be noted; undefined for never. */
  readonly warnAfterSeconds?: number | undefined;
  /** Releases before 1.30 give tokens no id. */
  readonly hasId: boolean;
  readonly nowMs: number;
}

interface IssuedToken {
  readonly token: string;
  /** Empty for one without an id. */
  readonly credentialId: string;
}

export type IssueToken = (spec: TokenRequestSpec) => IssuedToken;
