/** What a token is to say, for whoever can sign one. */
export interface NamedObject {
  readonly name: string;
  readonly uid: string;
}

export interface TokenWish {
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
  readonly hasId: boolean;
  readonly nowMs: number;
}

export type IssueToken = (wish: TokenWish) => {
  readonly token: string;
  /** Empty for one without an id. */
  readonly credentialId: string;
};
