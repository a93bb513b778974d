import type { Filter } from "../http/chain.ts";
import type { WithInfo } from "../http/filters/request-info.ts";
import { StatusError } from "../meta/status-error.ts";
import { ANONYMOUS, AUTHENTICATED, type User, type WithUser } from "./user.ts";

/** The user the credentials speak for; "none" when the request carries none of this kind; "rejected" when they are wrong. */
export type Authenticator = (request: WithInfo) => User | "none" | "rejected";

/** Asks each authenticator in turn; a request without any credentials is anonymous. */
export function authenticate(authenticators: readonly Authenticator[]): Filter<WithInfo, WithUser> {
  return (next) => async (request) => {
    let isRejected = false;
    for (const authenticator of authenticators) {
      const answer = authenticator(request);
      if (answer === "rejected") isRejected = true;
      else if (answer !== "none") return next(Object.assign(request, { user: withAuthenticatedGroup(answer) }));
    }
    if (isRejected || request.headers.authorization !== undefined)
      throw new StatusError("Unauthorized", "Unauthorized");
    return next(Object.assign(request, { user: ANONYMOUS }));
  };
}

function withAuthenticatedGroup(user: User): User {
  return user.groups.includes(AUTHENTICATED) ? user : { ...user, groups: [...user.groups, AUTHENTICATED] };
}
