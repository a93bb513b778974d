/** Members of some groups are asked nothing. */
import type { Authorization } from "../authorization.ts";
import type { AuthorizationDecision } from "../authorize.ts";

export const SYSTEM_MASTERS = "system:masters";

const ALLOWED: AuthorizationDecision = { allowed: true, reason: "" };

/** What the rules say of them is listed all the same: nothing more, as kubernetes. */
export function withPrivilegedGroups(
  authorization: Authorization,
  groups: readonly string[] = [SYSTEM_MASTERS],
): Authorization {
  return {
    authorize: (user, asked) =>
      groups.some((group) => user.groups.includes(group)) ? ALLOWED : authorization.authorize(user, asked),
    rulesFor: (user, namespace) => authorization.rulesFor(user, namespace),
  };
}
