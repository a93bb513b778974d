/**
 * The impersonation filter: replaces the user of a request with the user that the Impersonate-* headers name, if the
 * requester is allowed to impersonate this user. Later filters authorize the impersonated user.
 */
import type { PassingFilter } from "../../serving/http/chain.ts";
import { StatusError } from "../../meta/status-error.ts";
import { accessOf, tryCatchUp, type Authorizer, type CatchUp } from "./authorize.ts";
import { MODES, MODES_BEFORE_1_36, type Attempt, type Impersonated, type Mode } from "./impersonation/modes.ts";
import {
  hasImpersonationHeaders,
  namelessReferences,
  namelessUser,
  wantedUser,
  withoutImpersonationHeaders,
} from "./impersonation/wanted-user.ts";
import { LruMap } from "../../base/lru-map.ts";
import { AUTHENTICATED, type User, type WithUser } from "./user.ts";

export interface ImpersonateOptions {
  readonly authorizer: Authorizer;
  /** True since 1.36: impersonation can then be limited to certain users and actions. */
  readonly isConstrained: boolean;
  /** Catches up with the store before an authenticated requester is denied. */
  readonly catchUp?: CatchUp | undefined;
  /** Called for the audit event, while the user of the request is still the requester. */
  readonly onImpersonated?: ((request: WithUser, impersonated: Impersonated) => void) | undefined;
}

export function impersonate(options: ImpersonateOptions): PassingFilter<WithUser> {
  const { authorizer, catchUp } = options;
  const nameless = options.isConstrained ? namelessUser : namelessReferences;
  const tryModes = createModeSelector(options.isConstrained ? MODES : MODES_BEFORE_1_36);
  const decide = async (request: WithUser, wanted: User): Promise<Impersonated> => {
    const attempt: Attempt = { authorizer, requester: request.user, access: accessOf(request), wanted };
    let response = tryModes(attempt);
    if (response instanceof StatusError && catchUp !== undefined && request.user.groups.includes(AUTHENTICATED)) {
      await tryCatchUp(catchUp, request.signal);
      response = tryModes(attempt);
    }
    if (response instanceof StatusError) throw response;
    return response;
  };
  const asWanted = async <Req extends WithUser>(request: Req): Promise<Req> => {
    const wanted = wantedUser(request, nameless);
    const rest = withoutImpersonationHeaders(request);
    if (wanted === undefined) return Object.assign(request, rest);
    const impersonated = await decide(request, wanted);
    options.onImpersonated?.(request, impersonated);
    return Object.assign(request, rest, { user: impersonated.user, impersonatedBy: request.user });
  };
  return (next) => {
    const nextAsWanted: typeof next = async (request) => next(await asWanted(request));
    return (request) => (hasImpersonationHeaders(request) ? nextAsWanted(request) : next(request));
  };
}

/** Maximum number of requesters whose last successful mode is remembered. */
const REMEMBERED_MAX = 10_000;

/**
 * Tries the modes in order, but first the mode that last succeeded for the requester. If all modes fail, returns the
 * first error.
 */
function createModeSelector(modes: readonly Mode[]): (attempt: Attempt) => Impersonated | StatusError {
  const remembered = new LruMap<number>(REMEMBERED_MAX);
  return (attempt) => {
    const before = remembered.get(attempt.requester.name);
    const order = modes.keys().filter((index) => index !== before);
    let rejected: StatusError | undefined;
    for (const index of before === undefined ? order : [before, ...order]) {
      const response = modes[index]!(attempt);
      if (response instanceof StatusError) rejected ??= response;
      else if (response !== undefined) {
        if (index !== before) remembered.set(attempt.requester.name, index);
        return response;
      }
    }
    return rejected ?? new StatusError("Forbidden", "all impersonation modes failed", { details: {} });
  };
}
