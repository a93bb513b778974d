/** Checks that a request is proxied at most once. */
import { NO_VIOLATIONS, type GuaranteeChecker } from "../../../src/tools/simulator/checker.ts";

/**
 * The local server may try several peers one after another, but a peer must not proxy the request to a third server.
 */
export function atMostOneHop(): GuaranteeChecker {
  const localServers = new Map<string, string>();
  return {
    name: "at-most-one-hop",
    promise: "A request is proxied at most once, only by the server that received it from the client.",
    onRequest({ auditId, serverId }) {
      localServers.set(auditId, serverId);
      return NO_VIOLATIONS;
    },
    onHop({ auditId, from, to, method, target }) {
      const first = localServers.get(auditId);
      if (first === undefined || first === from) return NO_VIOLATIONS;
      return [`${method} ${target} was sent to ${first}, and was proxied again by ${from} to ${to}`];
    },
  };
}
