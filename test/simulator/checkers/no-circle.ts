import { NONE_BROKEN, type PromiseChecker } from "../../../src/tools/simulator/checker.ts";

export function noCircle(): PromiseChecker {
  const seenBy = new Map<string, Set<string>>();
  return {
    name: "no-circle",
    promise: "No server receives a request that it has proxied itself.",
    onHop({ auditId, from, to, method, target }) {
      const senders = seenBy.get(auditId) ?? new Set();
      seenBy.set(auditId, senders.add(from));
      return senders.has(to) ? [`${method} ${target} came back to ${to}, from ${from}`] : NONE_BROKEN;
    },
  };
}
