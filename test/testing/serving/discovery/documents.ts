/** Discovery documents for tests in short notation. */
import type { DiscoveryGroup, DiscoveryResource, DiscoveryVersion } from "../../../../src/serving/discovery/groups.ts";
import type { DiscoverySource } from "../../../../src/serving/discovery/merge.ts";

export function resource(name: string, more: Partial<DiscoveryResource> = {}): DiscoveryResource {
  return {
    resource: name,
    responseKind: { group: "", version: "", kind: `${name}-kind` },
    scope: "Namespaced",
    singularResource: "",
    verbs: ["get", "list"],
    shortNames: [],
    categories: [],
    subresources: [],
    storageVersionHash: undefined,
    ...more,
  };
}

export function version(name: string, ...resources: readonly (string | DiscoveryResource)[]): DiscoveryVersion {
  return {
    version: name,
    freshness: "Current",
    resources: resources.map((item) => (typeof item === "string" ? resource(item) : item)),
  };
}

export function group(name: string, ...versions: readonly (string | DiscoveryVersion)[]): DiscoveryGroup {
  return { name, versions: versions.map((item) => (typeof item === "string" ? version(item, "things") : item)) };
}

export function source(
  serverId: string,
  groups: readonly DiscoveryGroup[],
  more: Partial<DiscoverySource> = {},
): DiscoverySource {
  return { serverId, release: "1.36", isReachable: true, groups, ...more };
}

/**
 * One line for each group version, such as "apps/v1 deployments,replicasets"; the line of a stale group version ends
 * with an exclamation mark.
 */
export function lines(groups: readonly DiscoveryGroup[]): string[] {
  return groups.flatMap(({ name, versions }) =>
    versions.map(({ version: own, freshness, resources }) => {
      const names = resources.map((item) => item.resource).join(",");
      return `${name}/${own} ${names}${freshness === "Stale" ? "!" : ""}`;
    }),
  );
}
