/** Merges local and aggregated groups, and sorts them by their APIService priorities. Pure. */
import type { DiscoveryGroup, DiscoveryVersion } from "../../serving/discovery/groups.ts";
import { compareNames, compareApiVersions } from "../../serving/discovery/order.ts";
import { API_SERVICES } from "./api-service.ts";

interface Priorities {
  readonly groupPriorityMinimum: number;
  readonly versionPriority: number;
}

export interface RemoteGroupVersion extends Priorities {
  readonly group: string;
  readonly version: DiscoveryVersion;
}

/** As kubernetes: the priorities of a group version whose priorities are not known. */
const UNKNOWN: Priorities = { groupPriorityMinimum: 1_000, versionPriority: 15 };
/** The priority of apiregistration.k8s.io, higher than any priority that an APIService may have. */
const API_REGISTRATION_PRIORITY = 20_001;

interface Ranked extends Priorities {
  readonly version: DiscoveryVersion;
}

/**
 * Returns the local array itself if there are no aggregated groups. An aggregated group version replaces a local one,
 * because requests for it go to the aggregated server.
 */
export function mergeRemoteGroups(
  local: readonly DiscoveryGroup[],
  remote: readonly RemoteGroupVersion[],
  prioritiesOf: (group: string, version: string) => Priorities | undefined,
): readonly DiscoveryGroup[] {
  if (remote.length === 0) return local;
  const groups = new Map<string, Map<string, Ranked>>();
  const add = (group: string, ranked: Ranked): void => {
    const versions = groups.get(group) ?? new Map<string, Ranked>();
    groups.set(group, versions.set(ranked.version.version, ranked));
  };
  for (const { name, versions } of local)
    for (const version of versions) add(name, { ...(prioritiesOf(name, version.version) ?? UNKNOWN), version });
  for (const { group, ...ranked } of remote) add(group, ranked);
  const changed = new Set(remote.map(({ group }) => group));
  const localGroups = new Map(local.map((group) => [group.name, group]));
  return [...groups]
    .map(([name, versions]) => ({ name, versions: [...versions.values()], priority: groupPriority(name, versions) }))
    .sort((left, right) => right.priority - left.priority || compareNames(left.name, right.name))
    .map(({ name, versions }) => {
      const untouched = changed.has(name) ? undefined : localGroups.get(name);
      return untouched ?? { name, versions: versions.sort(compareRanked).map(({ version }) => version) };
    });
}

/** The core group always comes first. */
function groupPriority(name: string, versions: ReadonlyMap<string, Ranked>): number {
  if (name === "") return Infinity;
  if (name === API_SERVICES.group) return API_REGISTRATION_PRIORITY;
  return Math.max(...[...versions.values()].map(({ groupPriorityMinimum }) => groupPriorityMinimum));
}

function compareRanked(left: Ranked, right: Ranked): number {
  return (
    right.versionPriority - left.versionPriority || compareApiVersions(left.version.version, right.version.version)
  );
}
