/** Checks that the discovery of a settled cluster lists exactly the resources that live servers serve. */
import type { GuaranteeChecker } from "../../../src/tools/simulator/checker.ts";
import { listedResources } from "../discovery.ts";

export function servedIsListed(): GuaranteeChecker {
  return {
    name: "served-is-listed",
    promise: "After settling, discovery lists exactly the resources that live servers serve.",
    async whenSettled(cluster) {
      const served = new Set(cluster.live.flatMap(({ run }) => namesOf(run?.groups ?? [])));
      const problems: string[] = [];
      for (const server of cluster.live) {
        const listed = new Set((await listedResources(cluster, server)).map(({ name }) => name));
        for (const name of served) if (!listed.has(name)) problems.push(`${server.id} does not list ${name}`);
        for (const name of listed)
          if (!served.has(name)) problems.push(`${server.id} lists ${name}, which no server serves`);
      }
      return problems;
    },
  };
}

function namesOf(groups: readonly { readonly name: string; readonly versions: readonly VersionNames[] }[]): string[] {
  return groups.flatMap(({ name, versions }) =>
    versions.flatMap(({ version, resources }) =>
      resources.map(({ resource }) => [name, version, resource].filter((part) => part !== "").join("/")),
    ),
  );
}

interface VersionNames {
  readonly version: string;
  readonly resources: readonly { readonly resource: string }[];
}
