/** Groups of the catalogue with the resources that definitions add to them. */
import type { CatalogueGroup, CatalogueResource } from "../catalogue/catalogue.ts";
import { compareNames, compareVersions } from "../discovery/order.ts";

/** As kubernetes registers every definition. */
export const CUSTOM_PRIORITY = { groupPriorityMinimum: 1000, versionPriority: 100 } as const;

/** Groups that only definitions have come last, by name. What is built in is never displaced. */
export function withCustomResources(
  builtIn: readonly CatalogueGroup[],
  custom: readonly CatalogueResource[],
): CatalogueGroup[] {
  const byGroup = Map.groupBy(custom, ({ group }) => group);
  const extended = builtIn.map((group) => {
    const added = byGroup.get(group.name);
    byGroup.delete(group.name);
    return added === undefined ? group : toGroup(group.name, added, group);
  });
  const own = [...byGroup].map(([name, resources]) => toGroup(name, resources, undefined));
  return [...extended, ...own.sort((left, right) => compareNames(left.name, right.name))];
}

function toGroup(
  name: string,
  custom: readonly CatalogueResource[],
  builtIn: CatalogueGroup | undefined,
): CatalogueGroup {
  const taken = new Set(builtIn?.resources.map(({ resource }) => resource));
  const added = custom.filter(({ resource }) => !taken.has(resource));
  const own = new Set(added.flatMap(({ versions }) => versions.map(({ version }) => version)));
  const versions = [
    ...(builtIn?.versions ?? []),
    ...[...own].filter((version) => builtIn?.versions.includes(version) !== true),
  ];
  // Of built-in groups the release knows the order better than a comparison of names.
  const ordered = builtIn === undefined ? versions.sort(compareVersions) : versions;
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
