/** The user of a request, and what authentication adds to the request. */
import type { WithInfo } from "../../serving/http/filters/request-info.ts";

export interface User {
  readonly name: string;
  readonly uid: string;
  readonly groups: readonly string[];
  readonly extra: Readonly<Record<string, readonly string[]>>;
}

export interface WithUser extends WithInfo {
  readonly user: User;
  /** The requester, if it impersonates `user`. */
  readonly impersonatedBy?: User | undefined;
  /** True if another server forwards the user: request-header authentication succeeded. */
  readonly isVerifiedPeer: boolean;
  /** The ID of the peer that proxied the request, if a verified peer sent it. */
  readonly proxiedBy?: string | undefined;
  /** True if a verified peer has proxied the request; it is then served locally and not proxied again. */
  readonly isProxied: boolean;
}

export const AUTHENTICATED = "system:authenticated";

export const UNAUTHENTICATED = "system:unauthenticated";

export const ANONYMOUS: User = { name: "system:anonymous", uid: "", groups: [UNAUTHENTICATED], extra: {} };

/** An anonymous user stays anonymous, even if a peer forwards it. */
export function withAuthenticatedGroup(user: User): User {
  if (user.groups.includes(AUTHENTICATED) || user.groups.includes(UNAUTHENTICATED) || user.name === ANONYMOUS.name)
    return user;
  return { ...user, groups: [...user.groups, AUTHENTICATED] };
}
