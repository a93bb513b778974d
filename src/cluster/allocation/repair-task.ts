/**
 * Repairs the allocations of Services: once before the server is ready, then periodically, and when servers of other
 * releases join or leave, because other records are then in use.
 */
import { sleep, type Clock } from "../../base/clock.ts";
import type { Log } from "../../base/log.ts";
import { convertClaims, repairAllocations, type RepairParts, type RepairState } from "./repair.ts";
import { StatusError } from "../../meta/status-error.ts";
import { StorageError } from "../../storage/kv.ts";
import type { BackgroundTask } from "../../base/background.ts";
import type { StartupHook } from "../../base/startup-hook.ts";

/** As kubernetes: short enough that leaked ports do not exhaust the range. */
const INTERVAL_MS = 180_000;
const RETRY_MS = 250;
/** How often the releases of the live servers are compared with those of the last repair. */
const LOOK_MS = 1_000;

interface ServiceRepairOptions extends RepairParts {
  readonly clock: Clock;
  readonly log: Log;
}

interface ServiceRepair {
  readonly hook: StartupHook;
  readonly task: BackgroundTask;
}

export function createServiceRepair(options: ServiceRepairOptions): ServiceRepair {
  const { clock, allocators } = options;
  const state: RepairState = { leaks: new Map(), suspects: new Map() };
  return {
    hook: {
      name: "start-service-ip-repair-controllers",
      async run(signal) {
        while (!signal.aborted && !(await repairOnce(options, state, "start"))) await sleep(clock, RETRY_MS, signal);
      },
    },
    task: {
      name: "service-repair",
      async run(signal) {
        let repairedAt = clock.monotonic();
        while (await sleep(clock, LOOK_MS, signal)) {
          const isTime = clock.monotonic() - repairedAt >= INTERVAL_MS;
          if (!isTime && !allocators.records.isRepairDue()) continue;
          // A repair out of turn must not count as a further finding of a leak.
          const of = isTime ? state : { leaks: new Map(state.leaks), suspects: new Map(state.suspects) };
          if (isTime) repairedAt = clock.monotonic();
          await repairOnce(options, of, "interval");
        }
      },
    },
  };
}

/** Resolves to false after a store or API error, so that a retry may help. */
async function repairOnce(
  options: ServiceRepairOptions,
  state: RepairState,
  at: "start" | "interval",
): Promise<boolean> {
  const { log } = options;
  try {
    const { repaired, released, duplicate } = await repairAllocations(options, state);
    if (repaired.length > 0) log.warn("numbers of Services are not allocated; repairing", { numbers: list(repaired) });
    if (released.length > 0) log.warn("numbers appear to have leaked; cleaning up", { numbers: list(released) });
    if (duplicate.length > 0)
      log.error("numbers were assigned to multiple Services; please recreate", { numbers: list(duplicate) });
    const converted = at === "start" ? await convertClaims(options) : 0;
    if (converted > 0) log.info("converted claims on cluster IPs and node ports", { claims: converted });
    return true;
  } catch (thrown) {
    const error = thrown instanceof Error ? thrown.message : String(thrown);
    log.warn("checking cluster IPs and node ports failed", { error });
    // A retry does not help if an object is invalid, and such an object must not keep the server from becoming ready.
    return !(thrown instanceof StorageError || thrown instanceof StatusError);
  }
}

const LISTED_MAX = 20;

function list(numbers: readonly string[]): string {
  const rest = numbers.length - LISTED_MAX;
  return numbers.slice(0, LISTED_MAX).join(", ") + (rest > 0 ? ` and ${rest} more` : "");
}
