import { get } from "../get.ts";
import type { PromiseChecker } from "../../../src/tools/simulator/checker.ts";

export function readyAgain(): PromiseChecker {
  return {
    name: "ready-again",
    promise: "Every server that runs is ready when faults are over.",
    async whenSettled(cluster) {
      const problems: string[] = [];
      for (const server of cluster.live) {
        const { status, text } = await get(cluster, server, "/readyz?verbose");
        const failed = text.split("\n").filter((line) => line.startsWith("[-]"));
        if (status !== 200) problems.push(`${server.id} answers ${status}: ${failed.join(" ")}`);
      }
      return problems;
    },
  };
}
