/**
 * Discovery documents for tests in short notation: `{ "apps/v1": { deployments: "get list", "deployments/scale": "get"
 * } }`.
 */
import type {
  DiscoveryGroup,
  DiscoveryKind,
  DiscoveryResource,
  DiscoveryVersion,
} from "../../../../src/serving/discovery/groups.ts";
import { parseGroupVersion } from "../../../../src/meta/group-version.ts";

export type ShortDocument = Readonly<Record<string, Readonly<Record<string, string>>>>;

const KIND: DiscoveryKind = { group: "", version: "", kind: "Thing" };

export function documentOf(
  short: ShortDocument,
  freshness: DiscoveryVersion["freshness"] = "Current",
): DiscoveryGroup[] {
  return Object.entries(short).map(([groupVersion, resources]) => {
    const { group, version } = parseGroupVersion(groupVersion);
    return { name: group, versions: [{ version, freshness, resources: resourcesOf(resources) }] };
  });
}

function resourcesOf(short: Readonly<Record<string, string>>): DiscoveryResource[] {
  const parents = new Set(Object.keys(short).map((name) => name.split("/")[0]!));
  return [...parents].map((resource) => ({
    resource,
    responseKind: KIND,
    scope: "Namespaced",
    singularResource: "",
    verbs: verbsOf(short[resource]),
    shortNames: [],
    categories: [],
    subresources: Object.entries(short).flatMap(([name, verbs]) => {
      const [parent, subresource] = name.split("/");
      if (parent !== resource || subresource === undefined) return [];
      return [{ subresource, responseKind: KIND, verbs: verbsOf(verbs) }];
    }),
    storageVersionHash: undefined,
  }));
}

function verbsOf(words: string | undefined): string[] {
  return (words ?? "").split(" ").filter((word) => word !== "");
}
