import type { PassingFilter } from "../http/chain.ts";
import { StatusError } from "../meta/status-error.ts";
import type { WithUser } from "./user.ts";

/**
 * Nobody can act as somebody else yet. A request that asks for it is refused: answered as the caller
 * itself, it would be given rights that it wanted to lay down.
 */
export function impersonate(): PassingFilter<WithUser> {
  return (next) => (request) => {
    const asked = Object.keys(request.headers).find((name) => name.startsWith("impersonate-"));
    if (asked === undefined) return next(request);
    return Promise.reject(
      new StatusError("Forbidden", `impersonation (${asked}) is not supported by this version of Evenkeel`, {
        details: {},
      }),
    );
  };
}
