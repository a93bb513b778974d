/**
 * Selects the owners that certainly do not exist. An owner may be one of the values that could not be decrypted or read,
 * or an object of another API server, and then its absence from the readable data proves nothing.
 */
import { parseGroupVersion } from "../../../meta/group-version.ts";
import type { ValueCollector } from "./collect/collector.ts";
import type { ResourceStat } from "./collect/resource-stats.ts";
import type { CustomDefinition } from "./custom-definitions.ts";
import type { ReleaseView } from "./releases/release-views.ts";

interface MissingOwners {
  readonly positions: ReadonlySet<number>;
  /** Number of references to them. */
  readonly dependents: number;
}

interface OwnerContext {
  readonly views: readonly ReleaseView[];
  readonly definitions: readonly CustomDefinition[];
  readonly aggregatedGroups: ReadonlySet<string>;
}

export function missingOwners(collector: ValueCollector, context: OwnerContext): MissingOwners {
  const positions = new Set<number>();
  let dependents = 0;
  const doubtful = doubtfulKinds(collector.resources.all, context);
  const isDoubtful = new Map<number, boolean>();
  for (const owner of collector.owners.missing()) {
    const id = owner.kind * 65_536 + owner.apiVersion;
    let doubt = isDoubtful.get(id);
    if (doubt === undefined) {
      const { group } = parseGroupVersion(collector.strings.textOf(owner.apiVersion));
      const kind = collector.strings.textOf(owner.kind);
      doubt = context.aggregatedGroups.has(group) || doubtful.has(`${group}/${kind}`);
      isDoubtful.set(id, doubt);
    }
    if (doubt) continue;
    positions.add(owner.position);
    dependents += owner.dependents;
  }
  return { positions, dependents };
}

/** The kinds, such as "/Secret", of which some values could not be read. */
function doubtfulKinds(stats: readonly ResourceStat[], { views, definitions }: OwnerContext): ReadonlySet<string> {
  const kinds = new Set<string>();
  for (const { group, resource, sealed, unreadable } of stats) {
    if (sealed + unreadable === 0) continue;
    for (const { widest } of views)
      for (const { kind } of widest.resource(group, resource)?.versions ?? []) kinds.add(`${group}/${kind}`);
    for (const definition of definitions)
      if (definition.group === group && definition.resource === resource) kinds.add(`${group}/${definition.kind}`);
  }
  return kinds;
}
