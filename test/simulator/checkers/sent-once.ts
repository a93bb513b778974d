import { NONE_BROKEN, type PromiseChecker } from "../../../src/tools/simulator/checker.ts";

/**
 * Names are used once and every object is deleted by one request. So a creation that finds its name taken, or a deletion
 * that finds nothing although the object was there, was done twice.
 */
export function sentOnce(isThere: (target: string) => boolean): PromiseChecker {
  return {
    name: "sent-once",
    promise: "A request that changes something is done at most once.",
    onResponse({ request, status, unknown }) {
      const { method, target, name, serverId } = request;
      if (method === "POST" && status === 409)
        return [`${serverId} said of a new name that it exists: ${target} ${name}`];
      if (method === "DELETE" && unknown === "object" && isThere(target))
        return [`${serverId} deleted ${target}, and then said that it does not exist`];
      return NONE_BROKEN;
    },
  };
}
