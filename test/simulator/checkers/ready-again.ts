import { ask } from "../ask.ts";
import type { Checker } from "../../../src/tools/simulator/checker.ts";

export function readyAgain(): Checker {
  return {
    name: "ready-again",
    promise: "Every server that runs is ready when faults are over.",
    async whenSettled(cluster) {
      const problems: string[] = [];
      for (const server of cluster.live) {
        const { status, text } = await ask(cluster, server, "/readyz?verbose");
        const failed = text.split("\n").filter((line) => line.startsWith("[-]"));
        if (status !== 200) problems.push(`${server.id} answers ${status}: ${failed.join(" ")}`);
      }
      return problems;
    },
  };
}
