import { NONE_BROKEN, type PromiseChecker } from "../../../src/tools/simulator/checker.ts";

/** The local server may try several peers in turn; a peer must not proxy the request again. */
export function atMostOneHop(): PromiseChecker {
  const askedBy = new Map<string, string>();
  return {
    name: "at-most-one-hop",
    promise: "A request is proxied at most once, only by the server that received it from the client.",
    onRequest({ auditId, serverId }) {
      askedBy.set(auditId, serverId);
      return NONE_BROKEN;
    },
    onHop({ auditId, from, to, method, target }) {
      const first = askedBy.get(auditId);
      if (first === undefined || first === from) return NONE_BROKEN;
      return [`${method} ${target} was sent to ${first}, and was proxied again by ${from} to ${to}`];
    },
  };
}
