/** Adds the resources of CRDs to the groups of the catalog. */
import type { CatalogGroup, CatalogResource } from "../../../objects/catalog/catalog.ts";
import { compareNames, compareApiVersions } from "../../../serving/discovery/order.ts";

/** As kubernetes: the APIService priorities of every group version of a CRD. */
export const CUSTOM_PRIORITY = { groupPriorityMinimum: 1000, versionPriority: 100 } as const;

/** The groups that the last call returned, by name. */
type MadeGroups = Map<string, { readonly of: readonly CatalogResource[]; readonly group: CatalogGroup }>;

/**
 * Creates a function that returns the groups. There may be many, and they change one at a time, so a group stays the
 * same object until its resources change, and the array stays the same until a group changes.
 */
export function createCustomGroups(
  builtIn: readonly CatalogGroup[],
): (custom: readonly CatalogResource[]) => readonly CatalogGroup[] {
  const made: MadeGroups = new Map();
  let last: readonly CatalogGroup[] = [];
  return (custom) => {
    const groups = withCustomResources(builtIn, custom, made);
    if (!isSame(groups, last)) last = groups;
    return last;
  };
}

/**
 * Groups that have only custom resources come last, sorted by name. A built-in resource is never replaced by a custom
 * one.
 */
export function withCustomResources(
  builtIn: readonly CatalogGroup[],
  custom: readonly CatalogResource[],
  made: MadeGroups = new Map(),
): CatalogGroup[] {
  const byGroup = Map.groupBy(custom, ({ group }) => group);
  for (const name of made.keys()) if (!byGroup.has(name)) made.delete(name);
  const groupOf = (name: string, of: readonly CatalogResource[], own?: CatalogGroup): CatalogGroup => {
    const known = made.get(name);
    if (known !== undefined && isSame(known.of, of)) return known.group;
    const group = toGroup(name, of, own);
    made.set(name, { of, group });
    return group;
  };
  const extended = builtIn.map((group) => {
    const added = byGroup.get(group.name);
    byGroup.delete(group.name);
    return added === undefined ? group : groupOf(group.name, added, group);
  });
  const own = [...byGroup].map(([name, resources]) => groupOf(name, resources));
  return [...extended, ...own.sort((left, right) => compareNames(left.name, right.name))];
}

function isSame(left: readonly unknown[], right: readonly unknown[]): boolean {
  return left.length === right.length && left.every((one, index) => one === right[index]);
}

function toGroup(name: string, custom: readonly CatalogResource[], builtIn: CatalogGroup | undefined): CatalogGroup {
  const taken = new Set(builtIn?.resources.map(({ resource }) => resource));
  const added = custom.filter(({ resource }) => !taken.has(resource));
  const own = new Set(added.flatMap(({ versions }) => versions.map(({ version }) => version)));
  const versions = [
    ...(builtIn?.versions ?? []),
    ...[...own].filter((version) => builtIn?.versions.includes(version) !== true),
  ];
  // For built-in groups, the release defines the order of versions.
  const ordered = builtIn === undefined ? versions.sort(compareApiVersions) : versions;
  return {
    name,
    versions: ordered,
    preferredVersion: ordered[0] ?? "",
    resources: [...(builtIn?.resources ?? []), ...added].sort((left, right) =>
      compareNames(left.resource, right.resource),
    ),
    apiServicePriorities: new Map([
      ...ordered.map((version) => [version, CUSTOM_PRIORITY] as const),
      ...(builtIn?.apiServicePriorities ?? []),
    ]),
  };
}
