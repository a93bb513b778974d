/** Repairs the allocations of Services: once before the server is ready, then periodically. */
import { sleep, type Clock } from "../../base/clock.ts";
import type { Log } from "../../base/log.ts";
import { repairAllocations, type RepairParts, type Suspects } from "./repair.ts";
import { StatusError } from "../../meta/status-error.ts";
import { StorageError } from "../../storage/kv.ts";
import type { BackgroundTask } from "../../base/background.ts";
import type { StartupHook } from "../../base/startup-hook.ts";

/** As kubernetes: short enough that leaked ports do not exhaust the range. */
const INTERVAL_MS = 180_000;
const RETRY_MS = 250;

interface ServiceRepairOptions extends RepairParts {
  readonly clock: Clock;
  readonly log: Log;
}

export function serviceRepairHook(options: ServiceRepairOptions): StartupHook {
  return {
    name: "start-service-ip-repair-controllers",
    async run(signal) {
      while (!signal.aborted && !(await repairOnce(options, new Map()))) await sleep(options.clock, RETRY_MS, signal);
    },
  };
}

export function serviceRepair(options: ServiceRepairOptions): BackgroundTask {
  return {
    name: "service-repair",
    async run(signal) {
      const suspects: Suspects = new Map();
      while (await sleep(options.clock, INTERVAL_MS, signal)) await repairOnce(options, suspects);
    },
  };
}

/** Resolves to false after a store or API error, so that a retry may help. */
async function repairOnce(options: ServiceRepairOptions, suspects: Suspects): Promise<boolean> {
  const { log } = options;
  try {
    const { claimed, released, disputed } = await repairAllocations(options, suspects);
    if (claimed > 0 || released > 0) log.info("repaired cluster IPs and node ports", { claimed, released });
    if (disputed.length > 0) log.error("services share a cluster IP or a node port", { shared: disputed.join(", ") });
    return true;
  } catch (thrown) {
    const error = thrown instanceof Error ? thrown.message : String(thrown);
    log.warn("checking cluster IPs and node ports failed", { error });
    // A retry does not help if an object is invalid, and such an object must not keep the server from becoming ready.
    return !(thrown instanceof StorageError || thrown instanceof StatusError);
  }
}
