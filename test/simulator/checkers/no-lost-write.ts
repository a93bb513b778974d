/** Checks that acknowledged objects can be read until a client deletes them or a restore of the store loses them. */
import { get } from "../get.ts";
import { NO_VIOLATIONS, type GuaranteeChecker } from "../../../src/tools/simulator/checker.ts";
import type { KnownObjects } from "../objects.ts";
import { targetAt } from "../targets.ts";

/** `restoredAtMs` is the time of the last restore of the store. A request that was sent before it is not judged. */
export function noLostWrite(objects: KnownObjects, restoredAtMs: () => number = () => -Infinity): GuaranteeChecker {
  return {
    name: "no-lost-write",
    promise:
      "An object whose creation was acknowledged can be read until a client deletes it, and an object that is not in the backup from which the store was restored cannot be read.",
    onResponse({ request, unknown }) {
      const { method, target, serverId, startedAtMs } = request;
      if (startedAtMs < restoredAtMs()) return NO_VIOLATIONS;
      const isLost = method === "GET" && unknown === "object" && objects.get(target) === "there";
      return isLost ? [`${serverId} does not find ${target}, which was created and never deleted`] : NO_VIOLATIONS;
    },
    async whenSettled(cluster) {
      const problems: string[] = [];
      for (const server of cluster.live) {
        for (const path of [...objects.in("there"), ...objects.in("lost")]) {
          const target = targetAt(path);
          // Objects of a resource that only a departed server served are unavailable or unknown, which does not mean
          // that they are lost.
          if (!cluster.live.some(({ run }) => target !== undefined && run?.served.has(target))) continue;
          const { status } = await get(cluster, server, path);
          const expected = objects.get(path) === "lost" ? 404 : 200;
          if (status !== expected)
            problems.push(`${server.id} responds with ${status} for ${path}, instead of ${expected}`);
        }
      }
      return problems;
    },
  };
}
