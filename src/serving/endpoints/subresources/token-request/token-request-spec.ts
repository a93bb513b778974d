/** The content of a service account token, from which the issuer creates and signs the token. */
export interface NamedObject {
  readonly name: string;
  readonly uid: string;
}

export interface TokenRequestSpec {
  readonly namespace: string;
  readonly serviceAccount: NamedObject;
  readonly pod?: NamedObject | undefined;
  readonly secret?: NamedObject | undefined;
  /** The node to which the token is bound, or the node of the pod to which it is bound. */
  readonly node?: NamedObject | undefined;
  readonly audiences: readonly string[];
  readonly expirationSeconds: number;
  /** Time after which each use of the token is recorded as use of a stale token; undefined if it never is. */
  readonly warnAfterSeconds?: number | undefined;
  /** False for releases before 1.30, whose tokens have no ID. */
  readonly hasId: boolean;
  readonly nowMs: number;
}

interface IssuedToken {
  readonly token: string;
  /** The ID of the credential in audit events; empty if the token has no ID. */
  readonly credentialId: string;
}

export type IssueToken = (spec: TokenRequestSpec) => IssuedToken;
