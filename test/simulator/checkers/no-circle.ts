/** Checks that no server receives a request that it has proxied itself. */
import { NO_VIOLATIONS, type GuaranteeChecker } from "../../../src/tools/simulator/checker.ts";

export function noCircle(): GuaranteeChecker {
  const seenBy = new Map<string, Set<string>>();
  return {
    name: "no-circle",
    promise: "No server receives a request that it has proxied itself.",
    onHop({ auditId, from, to, method, target }) {
      const senders = seenBy.get(auditId) ?? new Set();
      seenBy.set(auditId, senders.add(from));
      return senders.has(to) ? [`${method} ${target} came back to ${to}, from ${from}`] : NO_VIOLATIONS;
    },
  };
}
