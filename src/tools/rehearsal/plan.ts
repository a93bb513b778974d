/** The upgrade plan: which server moves to which release and when, one server and one minor version at a time. */
import { must } from "../../base/assert.ts";
import { RELEASES, type ReleaseName } from "../../objects/catalog/release.ts";

export interface PlanOptions {
  readonly from: ReleaseName;
  readonly to: ReleaseName;
  readonly servers: number;
  readonly minutes: number;
  /** "and-back" also plays the rollback. */
  readonly way: "up" | "and-back";
  /** Minimum time between steps, in which a server drains, restarts and becomes known to its peers. Default 20 s. */
  readonly stepMsMin?: number;
}

export interface PlanStep {
  /** Time of the stop request to the server. All times count from the first request of a client. */
  readonly atMs: number;
  readonly serverId: string;
  readonly from: ReleaseName;
  readonly to: ReleaseName;
  readonly direction: "up" | "down";
}

export interface UpgradePlan {
  /** All releases of the plan, oldest first. */
  readonly releases: readonly ReleaseName[];
  readonly serverIds: readonly string[];
  readonly steps: readonly PlanStep[];
  /** Time from which no faults are injected and no server moves. */
  readonly settleAtMs: number;
  readonly durationMs: number;
}

export const SERVERS_MAX = 9;
export const MINUTES_MAX = 24 * 60;
const STEP_MS_MIN = 20_000;
/** Maximum quiet time before the first step, and after the last step. */
const QUIET_MS_MAX = 60_000;
const QUIET_SHARE = 0.15;

/** Returns one sentence about why the plan cannot be played; undefined if it can. */
export function planProblem(options: PlanOptions): string | undefined {
  const { from, to, servers, minutes, stepMsMin = STEP_MS_MIN } = options;
  if (RELEASES.indexOf(from) >= RELEASES.indexOf(to))
    return `--to must be a newer release than --from (${from}), not ${to}; use --down to play the rollback as well`;
  if (servers > SERVERS_MAX) return `--servers must be at most ${SERVERS_MAX}, not ${servers}`;
  if (minutes > MINUTES_MAX) return `--minutes must be at most ${MINUTES_MAX}, not ${minutes}`;
  const count = moves(options).length;
  if (stepMs(options, count) >= stepMsMin) return undefined;
  return `--minutes ${minutes} is too short for ${count} steps: set at least ${minutesMin(options, count)} minutes`;
}

export function createPlan(options: PlanOptions): UpgradePlan {
  const { servers, minutes } = options;
  const durationMs = minutes * 60_000;
  const planned = moves(options);
  const quietMs = quietMsOf(minutes);
  const eachMs = stepMs(options, planned.length);
  return {
    releases: releasesBetween(options.from, options.to),
    serverIds: Array.from({ length: servers }, (_, index) => serverName(index)),
    steps: planned.map((move, index) => ({ atMs: Math.round(quietMs + index * eachMs), ...move })),
    settleAtMs: Math.round(durationMs - quietMs),
    durationMs,
  };
}

/** All releases from the first to the last, both included. */
export function releasesBetween(from: ReleaseName, to: ReleaseName): ReleaseName[] {
  return RELEASES.slice(RELEASES.indexOf(from), RELEASES.indexOf(to) + 1);
}

/** The release of all servers before the first step. */
export function firstRelease({ releases }: Pick<UpgradePlan, "releases">): ReleaseName {
  return must(releases[0], "a plan has two releases at least");
}

function serverName(index: number): string {
  return `apiserver-${index + 1}`;
}

function moves({ from, to, servers, way }: PlanOptions): Omit<PlanStep, "atMs">[] {
  const upwards = releasesBetween(from, to);
  const roll = (path: readonly ReleaseName[], direction: PlanStep["direction"]): Omit<PlanStep, "atMs">[] =>
    path.slice(1).flatMap((release, index) =>
      Array.from({ length: servers }, (_, server) => ({
        serverId: serverName(server),
        from: path[index] ?? release,
        to: release,
        direction,
      })),
    );
  return [...roll(upwards, "up"), ...(way === "and-back" ? roll(upwards.toReversed(), "down") : [])];
}

function quietMsOf(minutes: number): number {
  return Math.min(QUIET_MS_MAX, minutes * 60_000 * QUIET_SHARE);
}

function stepMs({ minutes }: PlanOptions, count: number): number {
  return (minutes * 60_000 - 2 * quietMsOf(minutes)) / count;
}

function minutesMin(options: PlanOptions, count: number): number {
  let minutes = Math.max(1, Math.ceil(options.minutes));
  while (stepMs({ ...options, minutes }, count) < (options.stepMsMin ?? STEP_MS_MIN)) minutes++;
  return minutes;
}
