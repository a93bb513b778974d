/** Checks that the servers of a settled cluster list exactly the objects that the store has. */
import type { GuaranteeChecker } from "../../../src/tools/simulator/checker.ts";
import type { SimulatedCluster } from "../../../src/tools/simulator/cluster.ts";
import type { SimulatedServer } from "../../../src/tools/simulator/server.ts";
import { get } from "../get.ts";

const LIST = "/api/v1/configmaps";

export function listsMatchStore(): GuaranteeChecker {
  return {
    name: "lists-match-store",
    promise: "After settling, every server lists exactly the objects in the store, from its cache and from the store.",
    async whenSettled(cluster) {
      const problems: string[] = [];
      for (const server of cluster.live)
        for (const query of ["", "?resourceVersion=0"]) {
          const stored = await storedNames(cluster);
          const listed = await listedNames(cluster, server, query);
          if (listed !== stored)
            problems.push(`${server.id} lists ${LIST}${query} as ${listed}, the store has ${stored}`);
        }
      return problems;
    },
  };
}

async function storedNames(cluster: SimulatedCluster): Promise<string> {
  const start = "/registry/configmaps/";
  const reading = cluster.world.openKv().range({ start, end: "/registry/configmaps0" });
  const { items } = await cluster.world.run(reading);
  return items.map(({ key }) => key.slice(start.length)).join(" ");
}

async function listedNames(cluster: SimulatedCluster, server: SimulatedServer, query: string): Promise<string> {
  const { status, text } = await get(cluster, server, LIST + query);
  if (status !== 200) return `status ${status}`;
  const { items } = JSON.parse(text) as { items: { metadata: { namespace: string; name: string } }[] };
  return items.map(({ metadata }) => `${metadata.namespace}/${metadata.name}`).join(" ");
}
