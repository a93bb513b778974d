/** Checks that all servers of a settled cluster return the same discovery documents. */
import type { GuaranteeChecker } from "../../../src/tools/simulator/checker.ts";
import { allDocuments } from "../discovery.ts";

export function documentsEqual(): GuaranteeChecker {
  return {
    name: "documents-equal",
    promise: "After settling, every server returns the same discovery documents.",
    async whenSettled(cluster) {
      const [first, ...others] = cluster.live;
      if (first === undefined) return [];
      const expected = await allDocuments(cluster, first);
      const problems: string[] = [];
      for (const server of others) {
        const found = await allDocuments(cluster, server);
        for (const name of new Set([...expected.keys(), ...found.keys()])) {
          const difference = firstDifference(expected.get(name) ?? "", found.get(name) ?? "");
          if (difference !== undefined)
            problems.push(`${name} differs: ${first.id} …${difference[0]}… ${server.id} …${difference[1]}…`);
        }
      }
      return problems;
    },
  };
}

const SHOWN = 80;

function firstDifference(left: string, right: string): readonly [string, string] | undefined {
  if (left === right) return undefined;
  let at = 0;
  while (left[at] === right[at]) at++;
  const from = Math.max(0, at - SHOWN / 2);
  return [left.slice(from, from + SHOWN), right.slice(from, from + SHOWN)];
}
