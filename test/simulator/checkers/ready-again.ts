/** Checks that every running server of a settled cluster is ready. */
import { get } from "../get.ts";
import type { GuaranteeChecker } from "../../../src/tools/simulator/checker.ts";

export function readyAgain(): GuaranteeChecker {
  return {
    name: "ready-again",
    promise: "Every running server becomes ready after all faults have ended.",
    async whenSettled(cluster) {
      const problems: string[] = [];
      for (const server of cluster.live) {
        const { status, text } = await get(cluster, server, "/readyz?verbose");
        const failed = text.split("\n").filter((line) => line.startsWith("[-]"));
        if (status !== 200) problems.push(`${server.id} responds with ${status}: ${failed.join(" ")}`);
      }
      return problems;
    },
  };
}
