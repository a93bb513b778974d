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
  /** The user that was authenticated, if this user impersonates `user`. */
  readonly impersonatedBy?: User | undefined;
  /** True if request-header authentication succeeded: a peer or another front proxy has forwarded the user. */
  readonly isVerifiedPeer: boolean;
  /** The server ID of the peer that proxied the request. Undefined for requests that are not proxied. */
  readonly proxiedBy?: string | undefined;
  /** True if a verified peer has proxied the request. The request is then served locally and not proxied again. */
  readonly isProxied: boolean;
}

export const AUTHENTICATED = "system:authenticated";

export const UNAUTHENTICATED = "system:unauthenticated";

export const ANONYMOUS: User = { name: "system:anonymous", uid: "", groups: [UNAUTHENTICATED], extra: {} };

/** Adds the group system:authenticated, except to an anonymous user, which a peer may have forwarded. */
export function withAuthenticatedGroup(user: User): User {
  if (user.groups.includes(AUTHENTICATED) || user.groups.includes(UNAUTHENTICATED) || user.name === ANONYMOUS.name)
    return user;
  return { ...user, groups: [...user.groups, AUTHENTICATED] };
}
