/** Checks that the garbage collector deletes and orphans only objects that it may. */
import { NO_VIOLATIONS, type GuaranteeChecker } from "../../../src/tools/simulator/checker.ts";
import type { Commit } from "../../../src/tools/simulator/history.ts";
import { HistoryMap } from "../history-map.ts";
import { leavingOf, ownersOf, uidOf, type ObjectRecord } from "../object-record.ts";

export interface CollectedIsGarbageOptions {
  readonly record: ObjectRecord;
  /**
   * Whether a server serves the object at a key, or may return and serve it. Default: always true. An owner does not
   * wait for dependents that no server serves.
   */
  readonly isServed?: (key: string) => boolean;
}

/**
 * Clients delete only objects without owners, and change no owner references. So the garbage collector has deleted
 * every other deleted object, and has removed every removed owner reference, except in a namespace that is being
 * deleted.
 */
export function collectedIsGarbage({ record, isServed = () => true }: CollectedIsGarbageOptions): GuaranteeChecker {
  /** Keys of the dependents of each owner that is deleted with the orphan policy, by the UID of the owner. */
  const orphans = new HistoryMap<string, readonly string[]>(record.history);
  const judgeCollected = ({ key, before, after }: Commit): string[] => {
    const isCollected = after === undefined || (leavingOf(after) !== "no" && leavingOf(before) === "no");
    const kept = new Set(ownersOf(after).map(({ uid }) => uid));
    return ownersOf(before).flatMap(({ uid }) => {
      const owner = record.withUid(uid);
      if (owner === undefined) return [];
      const leaving = leavingOf(owner);
      if (isCollected && leaving === "no") return [`${key} was collected although its owner ${uid} exists`];
      if (isCollected && leaving !== "foreground")
        return [`${key} was collected although its owner ${uid}, which is being deleted (${leaving}), still exists`];
      return leaving === "no" && !kept.has(uid) ? [`${key} lost the reference to its owner ${uid}, which exists`] : [];
    });
  };
  const judgeOwner = ({ key, before, after }: Commit): string[] => {
    if (leavingOf(after) === "orphan" && leavingOf(before) !== "orphan")
      orphans.set(uidOf(after), record.keysOwnedBy(uidOf(after)));
    const left = after === undefined ? (orphans.get(uidOf(before)) ?? []) : [];
    const stillOwned = new Set(left.length === 0 ? [] : record.keysOwnedBy(uidOf(before)));
    return left
      .filter((dependent) => stillOwned.has(dependent) && !record.goesWithNamespace(record.at(dependent)))
      .filter(isServed)
      .map(
        (dependent) =>
          `${key} should have orphaned its dependents, but was removed while ${dependent} still references it`,
      );
  };
  return {
    name: "collected-is-garbage",
    promise:
      "No object is collected while one of its owners exists, unless that owner is in foreground deletion, and an owner that is deleted with the orphan policy is removed only after its dependents are orphaned.",
    onCommit(commit) {
      const { before } = commit;
      if (before === undefined || record.goesWithNamespace(before)) return NO_VIOLATIONS;
      return [...judgeCollected(commit), ...judgeOwner(commit)];
    },
  };
}
