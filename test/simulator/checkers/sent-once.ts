/** Checks that no mutating request is executed twice. */
import { NO_VIOLATIONS, type GuaranteeChecker } from "../../../src/tools/simulator/checker.ts";

/**
 * Clients use each name once, and delete each object by one request. So a creation that returns 409, or a deletion that
 * returns 404 for an object that existed, was executed twice.
 */
export function sentOnce(isThere: (target: string) => boolean): GuaranteeChecker {
  return {
    name: "sent-once",
    promise: "A mutating request is executed at most once.",
    onResponse({ request, status, unknown }) {
      const { method, target, name, serverId } = request;
      if (method === "POST" && status === 409)
        return [`${serverId} reported a new name as existing: ${target} ${name}`];
      if (method === "DELETE" && unknown === "object" && isThere(target))
        return [`${serverId} deleted ${target}, and then reported it as not found`];
      return NO_VIOLATIONS;
    },
  };
}
