/** The stage of a rehearsal: the port between the rehearsal and its cluster, simulated or of real processes. */
import type { Clock } from "../../base/clock.ts";
import type { Random } from "../../base/random.ts";
import { openCatalogue } from "../../objects/catalogue/catalogue.ts";
import type { ReleaseName } from "../../objects/catalogue/release.ts";
import type { Transport } from "../../client/transport.ts";
import { localGroups } from "../../serving/discovery/local.ts";
import { createServedSet } from "../../cluster/peers/served-set.ts";
import type { StoreHistory } from "../simulator/history.ts";
import type { Run } from "../simulator/server.ts";
import type { UpgradePlan, PlanStep } from "./plan.ts";
import type { FaultLevel, Gate } from "./report.ts";

/** The truth about one run of a server: what it serves, and when it was alive by the stage's clock. */
export type ServerRun = Pick<
  Run,
  "serverId" | "release" | "groups" | "served" | "readyAtMs" | "endedAtMs" | "troubledUntilMs" | "troubledSinceMs"
>;

/** A server as a client reaches it. */
export interface ServerConnection extends Transport {
  readonly serverId: string;
}

export interface RehearsalStage {
  readonly clock: Clock;
  /** Everything that is committed from the beginning on. */
  readonly history: Pick<StoreHistory, "onCommit" | "get" | "under">;
  /** All there were so far. */
  readonly serverRuns: readonly ServerRun[];
  readonly timing: { readonly departedGraceMs: number; readonly leaseKeptMs: number };
  /** A generator of its own for each name. */
  randomFor(name: string): Random;
  /** Resolves when all servers run the first release and are ready. */
  begin(): Promise<void>;
  /** The door of a server that listens, if one is named and it does; else of any that is ready. */
  connect(random: Random, home: string | undefined): ServerConnection | undefined;
  /** Resolves when the server has left; it comes back by itself. */
  move(step: PlanStep): Promise<void>;
  /** Things go wrong from now on. */
  startFaults(onFault: (what: string) => void): void;
  /** Nothing fails any more, and what has failed is well again. */
  endFaults(): void;
  pass(ms: number): Promise<unknown>;
  /** Time passes until it settles. */
  until<T>(work: Promise<T>): Promise<T>;
  close(): Promise<void>;
}

/** What a stage is told of the playing it is for. */
export interface StageOptions {
  readonly plan: UpgradePlan;
  readonly seed: number;
  readonly gate: Gate;
  readonly faults: FaultLevel;
  readonly onFailure: (thrown: unknown) => void;
}

/** Of a server that starts now and is asked for nothing special. */
export function newServerRun(
  serverId: string,
  release: ReleaseName,
): { -readonly [Key in keyof ServerRun]: ServerRun[Key] } {
  const groups = localGroups(openCatalogue({ release, extensions: true }));
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

/** In whatever version. */
export function servesAtAll(
  { groups }: ServerRun,
  about: { readonly group: string; readonly resource: string },
): boolean {
  return groups.some(
    ({ name, versions }) =>
      name === about.group &&
      versions.some(({ resources }) => resources.some(({ resource }) => resource === about.resource)),
  );
}

/** Whether somebody who has left since then served something that nobody serves now. */
export function isMissed(serverRuns: readonly ServerRun[], sinceMs: number): boolean {
  const living = new Set(serverRuns.filter(({ endedAtMs }) => endedAtMs === undefined).flatMap(servedNames));
  const departed = serverRuns.filter(({ endedAtMs = -Infinity }) => endedAtMs > sinceMs);
  return departed.some((run) => servedNames(run).some((name) => !living.has(name)));
}

function servedNames({ groups }: ServerRun): string[] {
  return groups.flatMap(({ name, versions }) =>
    versions.flatMap(({ version, resources }) => resources.map(({ resource }) => `${name}/${version}/${resource}`)),
  );
}
