/**
 * Checks that a namespace is finalized only when it is empty, and that no object is created in a namespace that is
 * being deleted or has been removed.
 */
import { objectAt, stringsAt, type JsonObject } from "../../../src/meta/json.ts";
import { NO_VIOLATIONS, type GuaranteeChecker } from "../../../src/tools/simulator/checker.ts";
import type { Commit } from "../../../src/tools/simulator/history.ts";
import { HistoryMap } from "../history-map.ts";
import { leavingOf, namespaceOf, NAMESPACES, type ObjectRecord } from "../object-record.ts";

export function namespacesEmpty(record: ObjectRecord): GuaranteeChecker {
  /** Names of namespaces that were removed at least once. */
  const gone = new HistoryMap<string, true>(record.history);
  const judgeNamespace = ({ key, before, after }: Commit): string[] => {
    const name = key.slice(NAMESPACES.length);
    if (after === undefined) gone.set(name, true);
    const isLetGo = after === undefined || (isHeld(before) && !isHeld(after));
    const left = isLetGo ? record.keysIn(name) : [];
    return left.length === 0 ? [] : [`namespace ${name} was finalized while the store contained ${left.join(", ")}`];
  };
  const judgeCreated = ({ key, after }: Commit): string[] => {
    const name = namespaceOf(after);
    const namespace = record.namespace(name);
    if (namespace === undefined ? !gone.has(name) : leavingOf(namespace) === "no") return [];
    return [
      `${key} was created although namespace ${name} is ${namespace === undefined ? "deleted" : "being deleted"}`,
    ];
  };
  return {
    name: "namespaces-empty",
    promise:
      "A namespace is finalized only when the store has no objects of it, and no object is created in it once it is being deleted.",
    onCommit(commit) {
      if (commit.key.startsWith(NAMESPACES)) return judgeNamespace(commit);
      return commit.before === undefined && namespaceOf(commit.after) !== "" ? judgeCreated(commit) : NO_VIOLATIONS;
    },
  };
}

/** True until the namespace controller has removed the finalizer of the namespace. */
function isHeld(namespace: JsonObject | undefined): boolean {
  return stringsAt(objectAt(namespace ?? {}, "spec"), "finalizers").includes("kubernetes");
}
