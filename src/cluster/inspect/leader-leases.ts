/**
 * Watches the leases of the leader elections, on every server, so that `evenkeel status` shows which server runs the
 * controllers, and whether it still renews its lease.
 */
import type { BackgroundTask } from "../../base/background.ts";
import type { Clock } from "../../base/clock.ts";
import { objectAt, stringAt, type JsonObject } from "../../meta/json.ts";
import type { WatchCache } from "../../storage/watch-cache/cache.ts";
import { decodeWaits, WAITS_ANNOTATION, type ReportedWaits } from "../controller-runtime/reported-waits.ts";
import {
  KUBE_CONTROLLER_MANAGER_LEASE,
  KubeControllerManagerLease,
} from "../controllers/kube-controller-manager-lease.ts";
import { parseEntry, type Entry } from "../../storage/watch-cache/entry.ts";
import { watchPrefix } from "../../storage/watch-cache/watch-prefix.ts";

/** The names of the leases, in kube-system. */
export const CONTROLLERS_LEASE = "evenkeel-controllers";
export const MIGRATIONS_LEASE = "evenkeel-storage-version-migrations";

export interface LeaderLease {
  readonly name: string;
  /** The ID of the leading server; "" if no server holds the lease. */
  readonly leader: string;
  /** When the leader took the lease, as it wrote it. */
  readonly acquireTime: string;
  readonly durationMs: number;
  /** When this server saw the last change of the lease, by its monotonic clock. */
  readonly changedAtMs: number;
  /** The waits of its controllers, as the leader has published them. */
  readonly reported: ReportedWaits;
}

interface LeaderLeases {
  readonly task: BackgroundTask;
  known(): readonly LeaderLease[];
  readonly kubeControllerManager: KubeControllerManagerLease;
}

interface LeaderLeasesOptions {
  readonly cache: WatchCache;
  readonly clock: Clock;
  readonly storageRoot: string;
}

export function leaderLeases({ cache, clock, storageRoot }: LeaderLeasesOptions): LeaderLeases {
  const prefix = `${storageRoot}leases/kube-system/`;
  const known = new Map<string, LeaderLease & { readonly revision: number }>();
  const kubeControllerManager = new KubeControllerManagerLease();
  const put = (entry: Entry): void => {
    const name = entry.key.slice(prefix.length);
    const { modRevision: revision } = entry;
    if (name === KUBE_CONTROLLER_MANAGER_LEASE && entry.corrupt === undefined)
      kubeControllerManager.seen(
        stringAt(objectAt(parseEntry(entry), "spec"), "holderIdentity"),
        revision,
        clock.monotonic(),
      );
    if (name !== CONTROLLERS_LEASE && name !== MIGRATIONS_LEASE) return;
    if (entry.corrupt !== undefined) return void known.delete(name);
    if (known.get(name)?.revision === revision) return;
    known.set(name, { ...leaseOf(name, parseEntry(entry)), changedAtMs: clock.monotonic(), revision });
  };
  return {
    task: watchPrefix({
      cache,
      clock,
      prefix,
      table: {
        reset(entries) {
          const names = new Set(entries.map(({ key }) => key.slice(prefix.length)));
          for (const name of known.keys()) if (!names.has(name)) known.delete(name);
          entries.forEach(put);
          if (!names.has(KUBE_CONTROLLER_MANAGER_LEASE)) kubeControllerManager.gone(clock.monotonic());
          kubeControllerManager.synced();
        },
        put,
        remove(key) {
          const name = key.slice(prefix.length);
          known.delete(name);
          if (name === KUBE_CONTROLLER_MANAGER_LEASE) kubeControllerManager.gone(clock.monotonic());
        },
      },
    }),
    kubeControllerManager,
    known: () => [...known.values()].sort((left, right) => (left.name < right.name ? -1 : 1)),
  };
}

function leaseOf(name: string, lease: JsonObject): Omit<LeaderLease, "changedAtMs"> {
  const spec = objectAt(lease, "spec");
  const holder = stringAt(spec, "holderIdentity");
  // The identity of a leader is its server ID and the ID of its run.
  const end = holder.lastIndexOf("_");
  const seconds = spec["leaseDurationSeconds"];
  return {
    name,
    leader: end < 0 ? holder : holder.slice(0, end),
    acquireTime: stringAt(spec, "acquireTime"),
    durationMs: typeof seconds === "number" && seconds > 0 ? seconds * 1000 : 0,
    reported: decodeWaits(objectAt(objectAt(lease, "metadata"), "annotations")[WAITS_ANNOTATION]),
  };
}
