/** Checks that every resource in the discovery of a settled cluster can be listed. */
import { get } from "../get.ts";
import type { GuaranteeChecker } from "../../../src/tools/simulator/checker.ts";
import { listedResources } from "../discovery.ts";

export function listedIsReachable(): GuaranteeChecker {
  return {
    name: "listed-is-reachable",
    promise: "After settling, every resource in discovery can be listed through every server.",
    async whenSettled(cluster) {
      const problems: string[] = [];
      for (const server of cluster.live) {
        for (const { path, verbs } of await listedResources(cluster, server)) {
          if (!verbs.includes("list")) continue;
          const { status, text } = await get(cluster, server, `${path}?limit=1`);
          if (status !== 200)
            problems.push(
              `the discovery of ${server.id} contains ${path}, but the list returns ${status}: ${text.slice(0, 200)}`,
            );
        }
      }
      return problems;
    },
  };
}
