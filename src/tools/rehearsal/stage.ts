/**
 * The stage of a rehearsal: the interface between the rehearsal and its cluster, which is simulated or made of real
 * processes.
 */
import type { Clock } from "../../base/clock.ts";
import type { Random } from "../../base/random.ts";
import { openCatalog } from "../../objects/catalog/catalog.ts";
import type { ReleaseName } from "../../objects/catalog/release.ts";
import type { Transport } from "../../client/transport.ts";
import { localGroups } from "../../serving/discovery/local.ts";
import { createServedSet } from "../../cluster/peers/served-set.ts";
import type { StoreHistory } from "../simulator/history.ts";
import type { Run } from "../simulator/server.ts";
import type { UpgradePlan, PlanStep } from "./plan.ts";
import type { FaultLevel } from "./report.ts";
import type { RehearsalSubject } from "./subject.ts";

/**
 * The truth about one run of a server: the resources that it serves, and when it was running, by the clock of the
 * stage.
 */
export type ServerRun = Pick<
  Run,
  "serverId" | "release" | "groups" | "served" | "readyAtMs" | "endedAtMs" | "troubledUntilMs" | "troubledSinceMs"
>;

/** A client's connection to a server. */
export interface ServerConnection extends Transport {
  readonly serverId: string;
}

export interface RehearsalStage {
  readonly clock: Clock;
  /** The commits of the store from the beginning on. */
  readonly history: Pick<StoreHistory, "onCommit" | "get" | "under">;
  /** All runs of servers so far. */
  readonly serverRuns: readonly ServerRun[];
  readonly timing: { readonly departedGraceMs: number; readonly leaseKeptMs: number };
  /** Returns a separate generator for each name. */
  randomFor(name: string): Random;
  /** Resolves when all servers run the first release and are ready. */
  begin(): Promise<void>;
  /** Connects to the server `home` if it is listening, else to any ready server. Undefined if there is none. */
  connect(random: Random, home: string | undefined): ServerConnection | undefined;
  /**
   * Stops the server, which then restarts as the new release. Resolves when the server has stopped, or has restarted.
   */
  move(step: PlanStep): Promise<void>;
  /** Starts injecting faults. */
  startFaults(onFault: (what: string) => void): void;
  /** Stops injecting faults. Current faults are cleared, or end when their time has passed. */
  endFaults(): void;
  pass(ms: number): Promise<unknown>;
  /** Lets time pass until the promise settles. */
  until<T>(work: Promise<T>): Promise<T>;
  close(): Promise<void>;
}

/** The options of one run that a stage needs. */
export interface StageOptions {
  readonly plan: UpgradePlan;
  readonly seed: number;
  readonly subject: RehearsalSubject;
  /** As the flag --runtime-config of every server. */
  readonly runtimeConfig: readonly string[];
  /** The resources that clients use, as "group/resource". */
  readonly resources: ReadonlySet<string>;
  readonly faults: FaultLevel;
  readonly onFailure: (thrown: unknown) => void;
}

/** A run of a server that starts now with default options, as checkers see it. */
export function newServerRun(
  serverId: string,
  release: ReleaseName,
): { -readonly [Key in keyof ServerRun]: ServerRun[Key] } {
  const groups = localGroups(openCatalog({ release, extensions: true }));
  return {
    serverId,
    release,
    groups,
    served: createServedSet(groups),
    readyAtMs: undefined,
    endedAtMs: undefined,
    troubledUntilMs: 0,
    troubledSinceMs: undefined,
  };
}

/** Whether the server serves any version of the resource. */
export function servesAnyVersion(
  { groups }: ServerRun,
  about: { readonly group: string; readonly resource: string },
): boolean {
  return groups.some(
    ({ name, versions }) =>
      name === about.group &&
      versions.some(({ resources }) => resources.some(({ resource }) => resource === about.resource)),
  );
}

/** Whether a server that ended after `sinceMs` served a resource that no server serves now. */
export function hasDepartedResource(serverRuns: readonly ServerRun[], sinceMs: number): boolean {
  const living = new Set(serverRuns.filter(({ endedAtMs }) => endedAtMs === undefined).flatMap(servedNames));
  const departed = serverRuns.filter(({ endedAtMs = -Infinity }) => endedAtMs > sinceMs);
  return departed.some((run) => servedNames(run).some((name) => !living.has(name)));
}

function servedNames({ groups }: ServerRun): string[] {
  return groups.flatMap(({ name, versions }) =>
    versions.flatMap(({ version, resources }) => resources.map(({ resource }) => `${name}/${version}/${resource}`)),
  );
}
