import { NONE_BROKEN, type PromiseChecker } from "../../../src/tools/simulator/checker.ts";

/** Several peers may be tried in turn, but only by the server that the client asked. */
export function atMostOneHop(): PromiseChecker {
  const askedBy = new Map<string, string>();
  return {
    name: "at-most-one-hop",
    promise: "A request is handed on at most once: only by the server that the client asked.",
    onRequest({ auditId, serverId }) {
      askedBy.set(auditId, serverId);
      return NONE_BROKEN;
    },
    onHop({ auditId, from, to, method, target }) {
      const first = askedBy.get(auditId);
      if (first === undefined || first === from) return NONE_BROKEN;
      return [`${method} ${target} was sent to ${first}, and was handed on again by ${from}, to ${to}`];
    },
  };
}
