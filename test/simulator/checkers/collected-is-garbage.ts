import { NONE_BROKEN, type PromiseChecker } from "../../../src/tools/simulator/checker.ts";
import type { Commit } from "../../../src/tools/simulator/history.ts";
import { leavingOf, ownersOf, uidOf, type ObjectRecord } from "../object-record.ts";

export interface CollectedIsGarbageOptions {
  readonly record: ObjectRecord;
  /**
   * Whether somebody serves what lies at a key, or may come back and do so. What has departed for good is not looked for,
   * so that its owners go without waiting for it. Default: all of it.
   */
  readonly isServed?: (key: string) => boolean;
}

/**
 * Clients delete only what has no owner, and change no references. So whatever else goes or loses an owner was collected
 * or made an orphan, unless its whole namespace goes.
 */
export function collectedIsGarbage({ record, isServed = () => true }: CollectedIsGarbageOptions): PromiseChecker {
  /** By the uid of an owner that is to leave orphans: the keys of its dependents when that was decided. */
  const orphans = new Map<string, readonly string[]>();
  const judgeCollected = ({ key, before, after }: Commit): string[] => {
    const isCollected = after === undefined || (leavingOf(after) !== "no" && leavingOf(before) === "no");
    const kept = new Set(ownersOf(after).map(({ uid }) => uid));
    return ownersOf(before).flatMap(({ uid }) => {
      const owner = record.withUid(uid);
      if (owner === undefined) return [];
      const leaving = leavingOf(owner);
      if (isCollected && leaving === "no") return [`${key} was collected although its owner ${uid} lives`];
      if (isCollected && leaving !== "foreground")
        return [`${key} was collected although its owner ${uid} leaves without it (${leaving})`];
      return leaving === "no" && !kept.has(uid) ? [`${key} was taken away from its owner ${uid}, which lives`] : [];
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
      .map((dependent) => `${key} was to leave orphans, and is gone while ${dependent} still names it`);
  };
  return {
    name: "collected-is-garbage",
    promise: "Nothing is collected that has a living owner, or one that was to leave it behind.",
    onCommit(commit) {
      const { before } = commit;
      if (before === undefined || record.goesWithNamespace(before)) return NONE_BROKEN;
      return [...judgeCollected(commit), ...judgeOwner(commit)];
    },
  };
}
