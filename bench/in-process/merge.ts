/**
 * Measures merging the discovery documents of a hundred servers. There are four different documents of a thousand group
 * versions each.
 */
import type { DiscoveryGroup, DiscoveryResource, DiscoveryVersion } from "../../src/serving/discovery/groups.ts";
import { mergeSources, type DiscoverySource } from "../../src/serving/discovery/merge.ts";
import { cpuMsOf } from "./cpu-time.ts";
import type { Difference, Measurement, Samples } from "./protocol.ts";

const SERVERS = 100;
const DOCUMENTS = 4;
const GROUPS = 500;
const VERSIONS = ["v1", "v1beta1"];
const RESOURCES = ["gadgets", "gizmos", "things", "widgets"];
/** With "some", one of this many groups differs between the documents. */
const DIFFERENT_ONE_IN = 10;

export function measureMerge({ rounds, count, documents }: Extract<Measurement, { kind: "merge" }>): Samples {
  const sources = createSources(documents);
  const mergeAll = (): void => {
    for (let index = 0; index < count; index++) {
      const { length } = mergeSources(sources);
      if (length !== GROUPS) throw new Error(`the merged document has ${length} groups`);
    }
  };
  const round = (): number => cpuMsOf(mergeAll) / count;
  round();
  return Array.from({ length: rounds }, round);
}

/**
 * A hundred servers with one of four documents each. The four documents share no JavaScript objects, as documents from
 * different servers do not.
 */
function createSources(difference: Difference): DiscoverySource[] {
  const documents = Array.from({ length: DOCUMENTS }, (_, variant) => createDocument(variant, difference));
  return Array.from({ length: SERVERS }, (_, server) => {
    const variant = server % DOCUMENTS;
    return {
      serverId: `server-${String(server).padStart(3, "0")}`,
      release: `1.${33 + variant}`,
      isReachable: true,
      groups: documents[variant]!,
      documentKey: `document-${variant}`,
    };
  });
}

function createDocument(variant: number, difference: Difference): DiscoveryGroup[] {
  return Array.from({ length: GROUPS }, (_, number) => {
    const isDifferent = difference === "all" || number % DIFFERENT_ONE_IN === 0;
    const versions = VERSIONS.map((version) => createVersion(version, isDifferent ? variant : 0));
    return { name: `group-${String(number).padStart(3, "0")}.example`, versions };
  });
}

/** A group version whose resource name and number of verbs depend on the variant. */
function createVersion(version: string, variant: number): DiscoveryVersion {
  const names = [...RESOURCES, `variants-${variant}`].sort();
  return { version, freshness: "Current", resources: names.map((name) => createResource(name, variant)) };
}

const VERBS = ["create", "delete", "deletecollection", "get", "list", "patch", "update", "watch"];

function createResource(name: string, variant: number): DiscoveryResource {
  const kind = { group: "", version: "", kind: name };
  return {
    resource: name,
    responseKind: kind,
    scope: "Namespaced",
    singularResource: name.slice(0, -1),
    verbs: VERBS.slice(0, VERBS.length - 3 + variant),
    shortNames: [name.slice(0, 2)],
    categories: ["all"],
    subresources: [{ subresource: "status", responseKind: { ...kind }, verbs: ["get", "patch", "update"] }],
    storageVersionHash: `${name}-hash=`,
  };
}
