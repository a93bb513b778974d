import type { Filter } from "../../serving/http/chain.ts";
import type { WithInfo } from "../../serving/http/filters/request-info.ts";
import { NO_CLAIMS, type IdentityClaims } from "../../serving/http/filters/strip-identity.ts";
import { LOOP_GUARDS, PROXIED_BY_HEADER } from "../../serving/http/proxy-headers.ts";
import { StatusError } from "../../meta/status-error.ts";
import { ANONYMOUS, withAuthenticatedGroup, type User, type WithUser } from "./user.ts";

export interface Authenticated {
  readonly user: User;
  /** A front proxy spoke for the user and was believed: peers are known by this. */
  readonly isVerifiedPeer: boolean;
}

/** Whom the credentials speak for; "none" when the request carries none of this kind; "rejected" when they are wrong. */
export type AuthenticatorAnswer = Authenticated | "none" | "rejected";

/** A promise where somebody must be asked: nearly all requests are answered at once. */
export type Authenticator = (request: WithInfo) => AuthenticatorAnswer | Promise<AuthenticatorAnswer>;

/**
 * Asks each authenticator in turn. What a request claims about itself ends here. A request without any credentials is
 * anonymous, unless strangers are refused.
 */
export function authenticate(
  authenticators: readonly Authenticator[],
  { refusesStrangers = false }: { readonly refusesStrangers?: boolean } = {},
): Filter<WithInfo, WithUser> {
  return (next) => async (request) => {
    let isRejected = false;
    for (const authenticator of authenticators) {
      const given = authenticator(request);
      const answer = given instanceof Promise ? await given : given;
      if (answer === "rejected") isRejected = true;
      else if (answer !== "none") return next(withCaller(request, answer));
    }
    if (isRejected || refusesStrangers || request.headers.authorization !== undefined)
      throw new StatusError("Unauthorized", "Unauthorized");
    return next(withCaller(request, STRANGER));
  };
}

const STRANGER: Authenticated = { user: ANONYMOUS, isVerifiedPeer: false };

function withCaller(request: WithInfo, { user, isVerifiedPeer }: Authenticated): WithUser {
  const isProxied = isVerifiedPeer && saysProxied(request.claims);
  return Object.assign(request, {
    user: withAuthenticatedGroup(user),
    isVerifiedPeer,
    isProxied,
    proxiedBy: isProxied ? request.claims.get(PROXIED_BY_HEADER)?.[0] : undefined,
    claims: NO_CLAIMS,
  });
}

/** A line may hold several values, put together by whoever joined equal headers on the way. */
function saysProxied(claims: IdentityClaims): boolean {
  return LOOP_GUARDS.some((guard) =>
    claims.get(guard)?.some((line) => line.split(",").some((value) => value.trim() === "true")),
  );
}
