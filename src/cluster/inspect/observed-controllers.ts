/** The state of the controllers of the cluster that every server observes in the store. */
import type { BackgroundTask } from "../../base/background.ts";
import type { Clock } from "../../base/clock.ts";
import type { WatchCache } from "../../storage/watch-cache/cache.ts";
import { controllerWaits } from "./controller-waits.ts";
import { leaderLeases } from "./leader-leases.ts";
import { terminatingNamespaces, type TerminatingNamespaces } from "./terminating-namespaces.ts";

export interface ObservedControllers {
  readonly tasks: readonly BackgroundTask[];
  readonly namespaces: Pick<TerminatingNamespaces, "seenAtMs">;
  /** The controllers of the cluster, and the leaders and namespaces for which it waits now. */
  readonly waits: () => ReturnType<typeof controllerWaits>;
}

export function observeControllers(options: {
  readonly cache: WatchCache;
  readonly clock: Clock;
  readonly storageRoot: string;
}): ObservedControllers {
  const { clock } = options;
  const leases = leaderLeases(options);
  const namespaces = terminatingNamespaces(options);
  return {
    tasks: [leases.task, namespaces.task],
    namespaces,
    waits: () =>
      controllerWaits({
        leases: leases.known(),
        namespaces: namespaces.objects(),
        nowMs: clock.monotonic(),
        now: clock.now(),
      }),
  };
}
