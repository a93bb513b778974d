/** Checks that the servers of a settled cluster list exactly the objects that the store has. */
import type { GuaranteeChecker } from "../../../src/tools/simulator/checker.ts";
import type { SimulatedCluster } from "../../../src/tools/simulator/cluster.ts";
import type { SimulatedServer } from "../../../src/tools/simulator/server.ts";
import { get } from "../get.ts";

/** The key prefix of each listed resource. Servers change its objects seldom, so a list and the store can be compared. */
const LISTED = ["configmaps", "namespaces", "pods"] as const;

export function listsMatchStore(): GuaranteeChecker {
  return {
    name: "lists-match-store",
    promise:
      "After settling, every server lists exactly the objects in the store at their versions, from its cache and from the store.",
    async whenSettled(cluster) {
      const problems: string[] = [];
      for (const server of cluster.live)
        for (const resource of LISTED)
          for (const query of ["", "?resourceVersion=0"]) {
            const stored = await storedVersions(cluster, resource);
            const listed = await listedVersions(cluster, server, `/api/v1/${resource}${query}`);
            if (listed !== stored)
              problems.push(`${server.id} lists ${resource}${query} as ${listed}, the store has ${stored}`);
          }
      return problems;
    },
  };
}

async function storedVersions(cluster: SimulatedCluster, resource: string): Promise<string> {
  const start = `/registry/${resource}/`;
  const reading = cluster.world.openKv().range({ start, end: `/registry/${resource}0` });
  const { items } = await cluster.world.run(reading);
  return items.map(({ key, modRevision }) => `${key.slice(start.length)}=${modRevision}`).join(" ");
}

async function listedVersions(cluster: SimulatedCluster, server: SimulatedServer, target: string): Promise<string> {
  const { status, text } = await get(cluster, server, target);
  if (status !== 200) return `status ${status}`;
  const { items } = JSON.parse(text) as { items: { metadata: ListedMetadata }[] };
  return items
    .map(({ metadata: { namespace, name, resourceVersion } }) => {
      const key = namespace === undefined ? name : `${namespace}/${name}`;
      return `${key}=${resourceVersion}`;
    })
    .join(" ");
}

interface ListedMetadata {
  readonly namespace?: string;
  readonly name: string;
  readonly resourceVersion: string;
}
