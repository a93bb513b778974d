/** The ServiceCIDR of the cluster IPs, if the release has the kind, and the task that keeps it. */
import type { BackgroundTask } from "../../base/background.ts";
import { sleep } from "../../base/clock.ts";
import { jsonEquals, objectAt, specOf, stringsAt, type JsonObject } from "../../meta/json.ts";
import type { WatchCache } from "../../storage/watch-cache/cache.ts";
import { parseEntry } from "../../storage/watch-cache/entry.ts";
import { ensureAll, withCondition, type BootstrapPorts, type OwnedObject } from "./owned-object.ts";
import type { Serves } from "./served-version.ts";

const NAME = "kubernetes";
/** As kubernetes: how often the object is checked. */
const INTERVAL_MS = 10_000;

/**
 * `cidrs`: the configured ranges, the default one first; none if the release allocates from no ServiceCIDR. An existing
 * ServiceCIDR is kept as it is, but gets the second range if the cluster becomes dual-stack.
 */
export function defaultServiceCidr(serves: Serves, cidrs: readonly string[]): OwnedObject[] {
  const at = serves("networking.k8s.io", "servicecidrs");
  if (at === undefined || cidrs.length === 0) return [];
  const { apiVersion } = at;
  return [
    {
      at,
      object: { apiVersion, kind: "ServiceCIDR", metadata: { name: NAME }, spec: { cidrs: [...cidrs] } },
      correct: (existing) => (becomesDualStack(existing, cidrs) ? { spec: { cidrs } } : undefined),
      condition: {
        type: "Ready",
        status: "True",
        reason: "",
        message: "Kubernetes default Service CIDR is ready",
        appliesTo: (existing) => hasRanges(existing, cidrs) && !isDeleted(existing),
      },
    },
  ];
}

interface KeeperOptions extends BootstrapPorts {
  readonly serves: Serves;
  readonly cidrs: readonly string[];
  readonly cache: WatchCache;
  /** Ends with a slash. */
  readonly storageRoot: string;
}

/**
 * Creates the ServiceCIDR again after a user has deleted it, and warns if it has other ranges than this server. No task
 * if the release allocates from no ServiceCIDR.
 */
export function keepServiceCidr(options: KeeperOptions): BackgroundTask[] {
  const { clock, log, cache, storageRoot, cidrs } = options;
  const owned = defaultServiceCidr(options.serves, cidrs);
  if (owned.length === 0) return [];
  let isWarned = false;
  const needsWrite = (one: OwnedObject, existing: JsonObject | undefined): boolean => {
    if (existing === undefined) return true;
    return one.correct?.(existing) !== undefined || withCondition(clock, one, existing) !== undefined;
  };
  const run = async (signal: AbortSignal): Promise<void> => {
    while (await sleep(clock, INTERVAL_MS, signal)) {
      if (cache.state !== "following") continue;
      const entry = cache.get(`${storageRoot}servicecidrs/${NAME}`);
      if (entry?.corrupt !== undefined) continue;
      const existing = entry && parseEntry(entry);
      if (owned.some((one) => needsWrite(one, existing))) await ensureAll(options, owned, signal);
      const isOther = existing !== undefined && !hasRanges(existing, cidrs) && !becomesDualStack(existing, cidrs);
      if (isOther && !isWarned) {
        const stored = stringsAt(specOf(existing), "cidrs").join();
        log.warn("the default ServiceCIDR differs from the configured ranges", { stored, configured: cidrs.join() });
      }
      isWarned = isOther;
    }
  };
  return [{ name: "default-service-cidr", run }];
}

function hasRanges(existing: JsonObject, cidrs: readonly string[]): boolean {
  return jsonEquals(stringsAt(specOf(existing), "cidrs"), cidrs);
}

function becomesDualStack(existing: JsonObject, cidrs: readonly string[]): boolean {
  const stored = stringsAt(specOf(existing), "cidrs");
  return cidrs.length === 2 && stored.length === 1 && stored[0] === cidrs[0];
}

function isDeleted(existing: JsonObject): boolean {
  return objectAt(existing, "metadata")["deletionTimestamp"] !== undefined;
}
