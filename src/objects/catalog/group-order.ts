/**
 * Defines one order of API groups for servers of all releases: that of /apis, by descending priority and then by name.
 * All releases have this order except for resource.k8s.io, which moved forward in 1.32: here its position is the one
 * since 1.32.
 */
import { decodedOnce, storedResources } from "./data-files.ts";
import { RELEASES, valueIn } from "./release.ts";
import type { StoredGroup } from "./stored-format.ts";

/**
 * The priority that kubernetes gives to apiregistration.k8s.io, the group of APIServices, which has no APIService of
 * its own.
 */
const API_REGISTRATION: readonly [string, number] = ["apiregistration.k8s.io", 20_001];

/** The priority that kubernetes gives to groups that no release has, such as those of custom resources. */
const UNKNOWN_PRIORITY = 1_000;

/** Compares group names for sorting: the core group first, then the order of /apis. */
export function compareGroups(left: string, right: string): number {
  if (left === right) return 0;
  const priorities = groupPriorities();
  const difference = (priorities.get(right) ?? UNKNOWN_PRIORITY) - (priorities.get(left) ?? UNKNOWN_PRIORITY);
  if (difference !== 0) return difference;
  return left < right ? -1 : 1;
}

function groupPriorities(): ReadonlyMap<string, number> {
  return decodedOnce(
    "group-priorities",
    () =>
      new Map([
        ...storedResources().groups.map((group) => [group.name, newestPriority(group)] as const),
        API_REGISTRATION,
        ["", Number.MAX_SAFE_INTEGER],
      ]),
  );
}

function newestPriority({ priorities }: StoredGroup): number {
  const newest = RELEASES.at(-1);
  if (newest === undefined) return UNKNOWN_PRIORITY;
  return Math.max(...Object.values(priorities).map((points) => valueIn(points, newest)?.[0] ?? UNKNOWN_PRIORITY));
}
