import { NOTHING, type Checker } from "../../../src/tools/simulator/checker.ts";

/** Several peers may be tried in turn, but only by the server that the client asked. */
export function atMostOneHop(): Checker {
  const askedBy = new Map<string, string>();
  return {
    name: "at-most-one-hop",
    promise: "A request is handed on at most once: only by the server that the client asked.",
    onQuestion({ auditId, serverId }) {
      askedBy.set(auditId, serverId);
      return NOTHING;
    },
    onHop({ auditId, from, to, method, target }) {
      const first = askedBy.get(auditId);
      if (first === undefined || first === from) return NOTHING;
      return [`${method} ${target} was sent to ${first}, and was handed on again by ${from}, to ${to}`];
    },
  };
}
