/** Knows the API groups of all releases, to tell resources of Kubernetes from custom and aggregated ones. */
import { decodedOnce, storedResources } from "./data-files.ts";

/** Whether any release has built-in resources in this group. */
export function isBuiltInGroup(group: string): boolean {
  const groups = decodedOnce(
    "groups",
    (): ReadonlySet<string> => new Set(storedResources().resources.map((stored) => stored.group)),
  );
  return groups.has(group);
}
