/** The state of the controllers of the cluster that every server observes in the store. */
import type { BackgroundTask } from "../../base/background.ts";
import type { Clock } from "../../base/clock.ts";
import type { WatchCache } from "../../storage/watch-cache/cache.ts";
import type { HeldControllers } from "../peers/cluster-status.ts";
import { controllerWaits } from "./controller-waits.ts";
import { leaderLeases } from "./leader-leases.ts";
import { terminatingNamespaces, type TerminatingNamespaces } from "./terminating-namespaces.ts";

export interface ObservedControllers {
  readonly tasks: readonly BackgroundTask[];
  readonly namespaces: Pick<TerminatingNamespaces, "seenAtMs">;
  /** The controllers of the cluster, and the leaders and namespaces for which it waits now. */
  readonly waits: () => ReturnType<typeof controllerWaits>;
  /** Whether the controller must stand back, because kube-controller-manager runs it or may run it. */
  readonly mustStandBack: (name: string) => boolean;
}

export function observeControllers(options: {
  readonly cache: WatchCache;
  readonly clock: Clock;
  readonly storageRoot: string;
  /** The controllers that stand back while kube-controller-manager runs. */
  readonly standingBack: ReadonlySet<string>;
}): ObservedControllers {
  const { clock, standingBack } = options;
  const leases = leaderLeases(options);
  const namespaces = terminatingNamespaces(options);
  const { kubeControllerManager: other } = leases;
  return {
    mustStandBack: (name) =>
      standingBack.has(name) && (!other.isSynced || other.holder(clock.monotonic()) !== undefined),
    tasks: [leases.task, namespaces.task],
    namespaces,
    waits: () =>
      controllerWaits({
        leases: leases.known(),
        heldElsewhere: heldBy(other.holder(clock.monotonic())?.holder, standingBack),
        namespaces: namespaces.objects(),
        nowMs: clock.monotonic(),
        now: clock.now(),
      }),
  };
}

function heldBy(holder: string | undefined, names: ReadonlySet<string>): HeldControllers | undefined {
  return holder === undefined || names.size === 0 ? undefined : { holder, controllers: [...names] };
}
