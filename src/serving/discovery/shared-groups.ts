/** Separates the custom and aggregated resources of a server, which all servers share, from its built-in ones. */
import type { DiscoveryGroup } from "./groups.ts";

/** The resources of `groups` that `builtIn` does not list, without groups and versions that become empty. */
export function sharedGroups(
  groups: readonly DiscoveryGroup[],
  builtIn: readonly DiscoveryGroup[],
): readonly DiscoveryGroup[] {
  const names = new Set(builtIn.flatMap(namesOf));
  return groups.flatMap(({ name, versions }) => {
    const kept = versions.flatMap((version) => {
      const resources = version.resources.filter(({ resource }) => !names.has(nameOf(name, version.version, resource)));
      // A stale version has no resources: the aggregated server behind it did not respond.
      const isShared = resources.length > 0 || version.freshness === "Stale";
      return isShared ? [{ ...version, resources }] : [];
    });
    return kept.length === 0 ? [] : [{ name, versions: kept }];
  });
}

function namesOf({ name, versions }: DiscoveryGroup): string[] {
  return versions.flatMap(({ version, resources }) => resources.map(({ resource }) => nameOf(name, version, resource)));
}

function nameOf(group: string, version: string, resource: string): string {
  return `${group}/${version}/${resource}`;
}
