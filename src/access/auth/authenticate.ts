/** The authentication filter: determines the user of a request, and whether a verified peer has sent it. */
import type { Filter } from "../../serving/http/chain.ts";
import type { WithInfo } from "../../serving/http/filters/request-info.ts";
import type { ApiResponse } from "../../serving/http/message.ts";
import { NO_CLAIMS, type IdentityClaims } from "../../serving/http/filters/strip-identity.ts";
import { LOOP_GUARDS, PROXIED_BY_HEADER } from "../../serving/http/proxy-headers.ts";
import { StatusError } from "../../meta/status-error.ts";
import { ANONYMOUS, withAuthenticatedGroup, type User, type WithUser } from "./user.ts";

export interface Authenticated {
  readonly user: User;
  /** True if request-header authentication succeeded; peers authenticate this way. */
  readonly isVerifiedPeer: boolean;
}

/**
 * The authenticated user, "none" if the request has no credentials of this kind, or "rejected" if the credentials are
 * wrong.
 */
export type AuthenticatorResult = Authenticated | "none" | "rejected";

/** Returns a promise only if it must read the store. Nearly all requests are authenticated synchronously. */
export type Authenticator = (request: WithInfo) => AuthenticatorResult | Promise<AuthenticatorResult>;

interface AuthenticateOptions {
  readonly rejectsAnonymousUsers?: boolean;
  /** Called for a request whose credentials were rejected by one authenticator, and accepted by none. */
  readonly onRejected?: (request: WithInfo) => void;
}

/**
 * Tries each authenticator in order, and removes the identity claims from the request, so that no later filter reads
 * them. A request without any credentials is anonymous, unless anonymous requests are rejected.
 */
export function authenticate(
  authenticators: readonly Authenticator[],
  { rejectsAnonymousUsers = false, onRejected }: AuthenticateOptions = {},
): Filter<WithInfo, WithUser> {
  const callerOf = (request: WithInfo, isRejected: boolean): Authenticated => {
    if (!isRejected && !rejectsAnonymousUsers && request.headers.authorization === undefined) return ANONYMOUS_CALLER;
    if (isRejected) onRejected?.(request);
    throw new StatusError("Unauthorized", "Unauthorized");
  };
  const findCaller = (request: WithInfo): Authenticated | Promise<Authenticated> => {
    let isRejected = false;
    for (const [index, authenticator] of authenticators.entries()) {
      const given = authenticator(request);
      if (given instanceof Promise) return findSlowly(request, { given, isRejected, index });
      if (given === "rejected") isRejected = true;
      else if (given !== "none") return given;
    }
    return callerOf(request, isRejected);
  };
  const findSlowly = async (request: WithInfo, at: Unfinished): Promise<Authenticated> => {
    let { isRejected } = at;
    for (let { index } = at; index < authenticators.length; index++) {
      const result = await (index === at.index ? at.given : authenticators[index]!(request));
      if (result === "rejected") isRejected = true;
      else if (result !== "none") return result;
    }
    return callerOf(request, isRejected);
  };
  return (next) => {
    const later: Later = async (request, caller) => next(withCaller(request, await caller));
    return (request) => {
      const caller = findCaller(request);
      return caller instanceof Promise ? later(request, caller) : next(withCaller(request, caller));
    };
  };
}

type Later = (request: WithInfo, caller: Promise<Authenticated>) => Promise<ApiResponse>;

/** The state of an authentication in which one authenticator must read the store. */
interface Unfinished {
  readonly given: Promise<AuthenticatorResult>;
  readonly index: number;
  readonly isRejected: boolean;
}

const ANONYMOUS_CALLER: Authenticated = { user: ANONYMOUS, isVerifiedPeer: false };

function withCaller(request: WithInfo, { user, isVerifiedPeer }: Authenticated): WithUser {
  const isProxied = isVerifiedPeer && claimsProxied(request.claims);
  return Object.assign(request, {
    user: withAuthenticatedGroup(user),
    isVerifiedPeer,
    isProxied,
    proxiedBy: isProxied ? request.claims.get(PROXIED_BY_HEADER)?.[0] : undefined,
    claims: NO_CLAIMS,
  });
}

/**
 * Whether a proxy header of the request is set to true. A header line may hold several values, because an intermediary
 * may have joined repeated headers.
 */
function claimsProxied(claims: IdentityClaims): boolean {
  return LOOP_GUARDS.some((guard) =>
    claims.get(guard)?.some((line) => line.split(",").some((value) => value.trim() === "true")),
  );
}
