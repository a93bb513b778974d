/**
 * Repairs the allocations of Services: once before the server is ready, then periodically, and when servers of other
 * releases join or leave, because other records are then in use. Between the repairs, it deletes IPAddress objects
 * without a Service.
 */
import { sleep, type Clock } from "../../base/clock.ts";
import type { Log } from "../../base/log.ts";
import { convertClaims, repairAllocations, type RepairParts, type RepairReport, type RepairState } from "./repair.ts";
import { repairOrphans } from "./repair-addresses.ts";
import type { RepairEvents } from "./repair-events.ts";
import type { Finding } from "./repair-findings.ts";
import { StatusError } from "../../meta/status-error.ts";
import { StorageError } from "../../storage/kv.ts";
import type { BackgroundTask } from "../../base/background.ts";
import type { StartupHook } from "../../base/startup-hook.ts";

/** As kubernetes: short enough that leaked ports do not exhaust the range. */
const INTERVAL_MS = 180_000;
const RETRY_MS = 250;
/** How often the server looks for IPAddress objects without a Service. */
const ORPHANS_MS = 10_000;
/** How often the releases of the live servers are compared with those of the last repair. */
const LOOK_MS = 1_000;

interface ServiceRepairOptions extends RepairParts {
  readonly clock: Clock;
  readonly log: Log;
  readonly events: RepairEvents;
}

interface ServiceRepair {
  readonly hook: StartupHook;
  readonly task: BackgroundTask;
}

export function createServiceRepair(options: ServiceRepairOptions): ServiceRepair {
  const { clock, allocators } = options;
  const state: RepairState = { leaks: new Map(), suspects: new Map() };
  const journal: Journal = { log: options.log, failure: undefined };
  /** The findings of the first repair. Its Events are written later, because the server is not ready yet. */
  let early: readonly Finding[] = [];
  return {
    hook: {
      name: "start-service-ip-repair-controllers",
      async run(signal) {
        for (;;) {
          const found = await logged(journal, () => repairAll(options, state, "start"));
          if (found !== undefined) early = found;
          if (found !== undefined || !(await sleep(clock, RETRY_MS, signal))) return;
        }
      },
    },
    task: {
      name: "service-repair",
      async run(signal) {
        let repairedAt = clock.monotonic();
        let lookedAt = repairedAt;
        while (await sleep(clock, LOOK_MS, signal)) {
          if (early.length > 0) await options.events.publish(early, "a repair");
          early = [];
          const now = clock.monotonic();
          const isTime = now - repairedAt >= INTERVAL_MS;
          if (isTime || allocators.records.isRepairDue()) {
            // A repair out of turn must not count as a further finding of a leak.
            const of = isTime ? state : { leaks: new Map(state.leaks), suspects: new Map(state.suspects) };
            if (isTime) repairedAt = now;
            const found = await logged(journal, () => repairAll(options, of, "interval"));
            if (isTime) await options.events.publish(found ?? [], "a repair");
          } else if (now - lookedAt >= ORPHANS_MS) {
            lookedAt = now;
            const found = await logged(journal, () => repairOrphans({ ...options, suspects: state.suspects }));
            await options.events.publish(found ?? [], "further");
          }
        }
      },
    },
  };
}

async function repairAll(
  options: ServiceRepairOptions,
  state: RepairState,
  at: "start" | "interval",
): Promise<RepairReport> {
  const report = await repairAllocations(options, state);
  const converted = at === "start" ? await convertClaims(options) : 0;
  if (converted > 0) options.log.info("converted claims on cluster IPs and node ports", { claims: converted });
  return report;
}

interface Journal {
  readonly log: Log;
  /** The error of the last repair, if it failed. A repeated error is not logged again, because an outage may be long. */
  failure: string | undefined;
}

/** Logs and returns the findings; undefined after a store or API error, so that a retry may help. */
async function logged(journal: Journal, repair: () => Promise<RepairReport>): Promise<readonly Finding[] | undefined> {
  const { log } = journal;
  try {
    const { findings, released } = await repair();
    journal.failure = undefined;
    for (const [problem, those] of Map.groupBy(findings, (finding) => finding.problem)) {
      const message = MESSAGES[problem];
      if (message !== undefined) log.warn(message, { numbers: list(those.map(({ number }) => number)) });
    }
    if (released.length > 0) log.warn("numbers appear to have leaked; cleaning up", { numbers: list(released) });
    return findings;
  } catch (thrown) {
    const error = thrown instanceof Error ? thrown.message : String(thrown);
    if (error !== journal.failure) log.warn("checking cluster IPs and node ports failed", { error });
    journal.failure = error;
    // A retry does not help if an object is invalid, and such an object must not keep the server from becoming ready.
    return thrown instanceof StorageError || thrown instanceof StatusError ? undefined : [];
  }
}

/** Released numbers, also of records that this release does not report, are logged apart. */
const MESSAGES: Readonly<Record<Finding["problem"], string | undefined>> = {
  "not-allocated": "numbers of Services are not allocated; repairing",
  duplicate: "numbers were assigned to multiple Services; please recreate",
  "out-of-range": "numbers of Services are not in a configured range; please recreate",
  invalid: "cluster IPs of Services are not valid; please recreate",
  leaked: undefined,
};

const LISTED_MAX = 20;

function list(numbers: readonly string[]): string {
  const rest = numbers.length - LISTED_MAX;
  return numbers.slice(0, LISTED_MAX).join(", ") + (rest > 0 ? ` and ${rest} more` : "");
}
