import type { WithInfo } from "../../serving/http/filters/request-info.ts";

export interface User {
  readonly name: string;
  readonly uid: string;
  readonly groups: readonly string[];
  readonly extra: Readonly<Record<string, readonly string[]>>;
}

export interface WithUser extends WithInfo {
  readonly user: User;
  /** Who asked to be somebody else, and is `user` now. */
  readonly impersonatedBy?: User | undefined;
  /** Another server speaks for the user: request-header authentication succeeded. */
  readonly isVerifiedPeer: boolean;
  /** The ID of the server that handed the request on, where it says so and is believed. */
  readonly proxiedBy?: string | undefined;
  /** A verified peer has handed the request on, so it is answered here and goes no further. */
  readonly isProxied: boolean;
}

export const AUTHENTICATED = "system:authenticated";

export const UNAUTHENTICATED = "system:unauthenticated";

export const ANONYMOUS: User = { name: "system:anonymous", uid: "", groups: [UNAUTHENTICATED], extra: {} };

/** A stranger stays one, also when a peer hands on what it asks for. */
export function withAuthenticatedGroup(user: User): User {
  if (user.groups.includes(AUTHENTICATED) || user.groups.includes(UNAUTHENTICATED) || user.name === ANONYMOUS.name)
    return user;
  return { ...user, groups: [...user.groups, AUTHENTICATED] };
}
