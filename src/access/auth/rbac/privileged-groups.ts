/** Allows everything to members of privileged groups, such as system:masters. */
import type { Authorization } from "../authorization.ts";
import type { AuthorizationDecision } from "../authorize.ts";

export const SYSTEM_MASTERS = "system:masters";

const ALLOWED: AuthorizationDecision = { allowed: true, reason: "" };

/** As kubernetes: rulesFor still lists only the rules that RBAC grants to such a user. */
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
