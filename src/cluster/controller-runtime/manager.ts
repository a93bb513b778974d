/** Runs the controllers while this server holds the leader lease, and reports their health. */
import { sleep, type Clock } from "../../base/clock.ts";
import { eitherSignal } from "../../base/either-signal.ts";
import type { Log } from "../../base/log.ts";
import type { Random } from "../../base/random.ts";
import type { StoreEpoch } from "../../base/store-epoch.ts";
import { messageOf } from "../../base/within.ts";
import type { Client } from "../../client/client.ts";
import { ControllerRun, type ControllerRunOptions } from "./controller-run.ts";
import type { ControllerSpec } from "./controller.ts";
import type { ControllerMetrics } from "./controller-metrics.ts";
import { runLeaderElection, type LeaderTiming, type Term } from "./leader-election.ts";
import { encodeWaits, WAITS_ANNOTATION, type ReportedWait } from "./reported-waits.ts";

interface ControllerManagerOptions {
  readonly controllers: readonly ControllerSpec[];
  /** The names of the enabled controllers. */
  readonly enabled: ReadonlySet<string>;
  /** The client that reads and writes the leader lease. */
  readonly client: Client;
  readonly clock: Clock;
  readonly random: Random;
  readonly log: Log;
  /** Shared by all managers of a server. */
  readonly metrics: ControllerMetrics;
  /** Unique among all servers, and different for each start of the process. */
  readonly identity: string;
  readonly leaseName: string;
  readonly timing?: LeaderTiming;
  /** Called at the beginning of each term, before the controllers start. */
  readonly onTerm?: (term: Term) => void;
  readonly epoch?: StoreEpoch;
  /**
   * Whether a controller must stand back, because another program runs it. Checked every second; a controller that runs
   * is stopped. Default: never.
   */
  readonly mustStandBack?: (name: string) => boolean;
  /** Waits that no single controller reports. The leader publishes all of them in its lease. */
  readonly waits?: () => readonly ReportedWait[];
}

interface ControllerState {
  readonly name: string;
  readonly isEnabled: boolean;
  readonly isRunning: boolean;
  readonly hasSynced: boolean;
  readonly queueLength: number;
  readonly failuresInRow: number;
  /** The error of the last failed reconcile in this term. */
  readonly lastError: string | undefined;
}

interface ControllerCheck {
  readonly name: string;
  /** Undefined if healthy; otherwise the reason. */
  readonly check: () => string | undefined;
  readonly endpoints: readonly "healthz"[];
}

export interface ControllerManager {
  /** Competes for the lease, and runs the controllers while holding it, until the signal aborts. */
  run(signal: AbortSignal): Promise<void>;
  /** One check for each enabled controller. The check passes while the controller does not run on this server. */
  checks(): readonly ControllerCheck[];
  isLeading(): boolean;
  states(): readonly ControllerState[];
}

/** After this time without a sync a controller is unhealthy. As controller-runtime: longer than any list takes. */
const SYNC_LIMIT_MS = 120_000;
/**
 * After this many failed reconciles in a row a controller is unhealthy. With backoff a single key needs minutes to fail
 * this often, longer than a usual outage of the store.
 */
const FAILURES_MAX = 20;
/**
 * A controller that has not stopped after this time is unhealthy, because this server cannot lead again until it has
 * stopped.
 */
const STOP_LIMIT_MS = 60_000;
const STAND_BACK_CHECK_MS = 1_000;
/** Delay before a failed controller restarts, because the cause may last a while. */
const RESTART_MS = 5_000;

export function createControllerManager(options: ControllerManagerOptions): ControllerManager {
  const { controllers, enabled, clock, log, leaseName, metrics } = options;
  const runs = new Map<string, Kept>();
  let current: Term | undefined;
  const isLeading = (): boolean => current?.isLeading === true;
  const active = controllers.filter(({ name }) => enabled.has(name));
  metrics.show({
    masterStatus: () => [{ name: leaseName, isLeading: isLeading() }],
    depths: () => active.map(({ name }) => ({ name, depth: runs.get(name)?.run.queueLength ?? 0 })),
  });
  const onTerm = async (signal: AbortSignal, term: Term): Promise<void> => {
    current = term;
    options.onTerm?.(term);
    const { random, mustStandBack = () => false } = options;
    const common = { clock, random, log, metrics, runs };
    const run = (spec: ControllerSpec): Promise<void> => {
      const isHeld = (): boolean => mustStandBack(spec.name);
      return runUnlessHeld(spec, { ...common, mayWork: () => term.isLeading && !isHeld(), isHeld }, signal);
    };
    await Promise.all(active.map(run));
  };
  const annotations = (): Record<string, string | undefined> => {
    const waits = isLeading() ? [...active.flatMap((spec) => spec.waits?.() ?? []), ...(options.waits?.() ?? [])] : [];
    return { [WAITS_ANNOTATION]: encodeWaits(waits) };
  };
  return {
    async run(signal) {
      if (active.length > 0) await runLeaderElection({ ...options, name: leaseName, annotations, onTerm }, signal);
    },
    checks: () =>
      active.map(({ name }) => ({
        name: `controller/${name}`,
        check: () => {
          const kept = runs.get(name);
          if (kept === undefined) return undefined;
          return stoppingProblem(kept, clock) ?? (isLeading() ? workingProblem(kept, clock) : undefined);
        },
        endpoints: ["healthz"],
      })),
    isLeading,
    states: () => controllers.map(({ name }) => stateOf(name, enabled.has(name), runs.get(name)?.run)),
  };
}

interface Keeping extends Pick<ControllerRunOptions, "clock" | "random" | "log" | "mayWork"> {
  readonly metrics: ControllerMetrics;
  readonly runs: Map<string, Kept>;
}

interface Kept {
  readonly run: ControllerRun;
  /** When the controller was last synced, or when the term began. Restarts do not reset it. */
  readonly unsyncedSinceMs: number;
}

/** Runs one controller while no other program runs it. */
async function runUnlessHeld(
  spec: ControllerSpec,
  { isHeld, ...keeping }: Keeping & { readonly isHeld: () => boolean },
  signal: AbortSignal,
): Promise<void> {
  const { clock, log } = keeping;
  const whileHeld = async (expected: boolean): Promise<void> => {
    while (isHeld() === expected && (await sleep(clock, STAND_BACK_CHECK_MS, signal)));
  };
  while (!signal.aborted) {
    if (isHeld()) {
      log.info("controller stands back", { controller: spec.name });
      await whileHeld(true);
      if (signal.aborted) return;
      log.info("controller takes over", { controller: spec.name });
    }
    const stop = new AbortController();
    const running = keepRunning(spec, keeping, eitherSignal(signal, stop.signal));
    await whileHeld(false);
    stop.abort();
    await running;
  }
}

/** Runs one controller, and restarts it with new sources if it fails, so that the other controllers continue. */
async function keepRunning(spec: ControllerSpec, keeping: Keeping, signal: AbortSignal): Promise<void> {
  const { metrics, runs, ...common } = keeping;
  const { clock, log } = common;
  const { name } = spec;
  let unsyncedSinceMs = clock.monotonic();
  do {
    const run = new ControllerRun(spec, { ...common, ...metrics.of(name) });
    runs.set(name, { run, unsyncedSinceMs });
    try {
      await run.run(signal);
    } catch (thrown) {
      log.error("controller failed and will be restarted", { controller: name, error: messageOf(thrown) });
    }
    if (run.hasSynced) unsyncedSinceMs = clock.monotonic();
  } while (await sleep(clock, RESTART_MS, signal));
  runs.delete(name);
}

/** Also checked if this server does not lead. */
function stoppingProblem({ run }: Kept, clock: Clock): string | undefined {
  const forMs = clock.monotonic() - (run.stoppingSinceMs ?? Infinity);
  return forMs > STOP_LIMIT_MS ? `it was stopped ${seconds(forMs)} ago and is still running` : undefined;
}

function workingProblem({ run, unsyncedSinceMs }: Kept, clock: Clock): string | undefined {
  const forMs = clock.monotonic() - unsyncedSinceMs;
  if (!run.hasSynced && forMs > SYNC_LIMIT_MS) return `it has waited ${seconds(forMs)} for its sources to sync`;
  if (run.failuresInRow < FAILURES_MAX) return undefined;
  return `its last ${run.failuresInRow} reconciles failed, the last one with: ${run.lastError}`;
}

function seconds(ms: number): string {
  return `${Math.floor(ms / 1000)} s`;
}

function stateOf(name: string, isEnabled: boolean, run: ControllerRun | undefined): ControllerState {
  return {
    name,
    isEnabled,
    isRunning: run !== undefined,
    hasSynced: run?.hasSynced ?? false,
    queueLength: run?.queueLength ?? 0,
    failuresInRow: run?.failuresInRow ?? 0,
    lastError: run?.lastError,
  };
}
