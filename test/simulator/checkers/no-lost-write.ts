/** Checks that acknowledged objects can be read until a client deletes them. */
import { get } from "../get.ts";
import { NO_VIOLATIONS, type GuaranteeChecker } from "../../../src/tools/simulator/checker.ts";
import type { KnownObjects } from "../objects.ts";
import { targetAt } from "../targets.ts";

export function noLostWrite(objects: KnownObjects): GuaranteeChecker {
  return {
    name: "no-lost-write",
    promise: "An object whose creation was acknowledged can be read until a client deletes it.",
    onResponse({ request, unknown }) {
      const { method, target, serverId } = request;
      const isLost = method === "GET" && unknown === "object" && objects.get(target) === "there";
      return isLost ? [`${serverId} does not find ${target}, which was created and never deleted`] : NO_VIOLATIONS;
    },
    async whenSettled(cluster) {
      const problems: string[] = [];
      for (const server of cluster.live) {
        for (const path of objects.in("there")) {
          const target = targetAt(path);
          // Objects of a resource that only a departed server served are unavailable or unknown, which does not mean
          // that they are lost.
          if (!cluster.live.some(({ run }) => target !== undefined && run?.served.has(target))) continue;
          const { status } = await get(cluster, server, path);
          if (status !== 200) problems.push(`${server.id} responds with ${status} for ${path}`);
        }
      }
      return problems;
    },
  };
}
