/**
 * Lists the conflicts of an apply, which are fields that it would change and that another manager owns, and writes
 * their message.
 */
import type { ManagerEntry } from "./entries.ts";
import type { FieldChildren, FieldSet } from "./field-set.ts";
import { compareElementKeys, parseElementKey, pathText, type FieldPath, type PathElement } from "./path-element.ts";

export interface FieldConflict {
  readonly owner: ManagerEntry;
  readonly path: FieldPath;
}

/** Sorted by path: all fields of an object come before the fields below them. */
export function conflictsWith(owner: ManagerEntry, fields: FieldSet): FieldConflict[] {
  return [...orderedPaths(fields.children, [])].map((path) => ({ owner, path }));
}

function* orderedPaths(children: FieldChildren, prefix: FieldPath): Generator<FieldPath> {
  const ordered = [...children].sort(([left], [right]) => compareElementKeys(left, right));
  for (const [key, { member }] of ordered) if (member) yield [...prefix, parseElementKey(key) as PathElement];
  for (const [key, { children: below }] of ordered) {
    if (below !== undefined) yield* orderedPaths(below, [...prefix, parseElementKey(key) as PathElement]);
  }
}

/** The text for an entry in messages, such as `"kubectl" with subresource "scale" using apps/v1`. */
export function ownerText({ owner }: Pick<FieldConflict, "owner">): string {
  const { manager, subresource, operation, apiVersion } = owner;
  const through = subresource === "" ? "" : ` with subresource ${JSON.stringify(subresource)}`;
  return `${JSON.stringify(manager)}${through}${operation === "Update" ? ` using ${apiVersion}` : ""}`;
}

/** The message for the client, which groups the conflicts by manager. */
export function conflictsText(conflicts: readonly FieldConflict[]): string {
  const [first] = conflicts;
  if (first === undefined) return "";
  if (conflicts.length === 1)
    return `Apply failed with 1 conflict: conflict with ${ownerText(first)}: ${pathText(first.path)}`;
  const byOwner = Map.groupBy(conflicts, ({ owner }) => owner);
  const lines = [...byOwner.values()].flatMap((own) => [
    ...own.slice(0, 1).map((conflict) => `conflicts with ${ownerText(conflict)}:`),
    ...own.map(({ path }) => `- ${pathText(path)}`),
  ]);
  return `Apply failed with ${conflicts.length} conflicts: ${lines.join("\n")}`;
}
