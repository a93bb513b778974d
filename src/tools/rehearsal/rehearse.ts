/** Rehearses an upgrade: plays the plan twice with one seed, with and without the mixed version proxy. */
import type { Manifest } from "../upgrade/manifests/read-manifests.ts";
import { examineManifests } from "./manifests.ts";
import { pathApis } from "./path-apis.ts";
import { createPlan, type PlanOptions } from "./plan.ts";
import { play } from "./play.ts";
import { decideVerdict, type FaultLevel, type Gate, type RehearsalReport } from "./report.ts";
import { SimulatedStage } from "./simulated-stage.ts";
import type { RehearsalStage, StageOptions } from "./stage.ts";
import { loadTargets, type Sample } from "./targets.ts";

export interface RehearseOptions extends PlanOptions {
  readonly faults: FaultLevel;
  /** The run that the verdict is about. */
  readonly gate: Gate;
  readonly seed: number;
  readonly manifests?: readonly Manifest[];
  /** Opens the stage. Default: in virtual time. */
  readonly openStage?: OpenStage;
  /** Called with the elapsed time of the current run. */
  readonly onProgress?: (progress: PlayProgress) => void;
}

export type OpenStage = (options: StageOptions) => Promise<RehearsalStage>;

export interface PlayProgress {
  readonly gate: Gate;
  readonly passedMs: number;
  readonly durationMs: number;
}

/** The options must be valid: `planProblem` returns undefined for them. */
export async function rehearse(options: RehearseOptions): Promise<RehearsalReport> {
  const { from, to, servers, minutes, way, faults, gate, seed, manifests, onProgress = () => {} } = options;
  const time = options.openStage === undefined ? "virtual" : "real";
  const plan = createPlan(options);
  const apis = pathApis(plan.releases);
  const targets = loadTargets(apis, plan.releases, (manifests ?? []).flatMap(toSample));
  const { openStage = (about): Promise<RehearsalStage> => Promise.resolve(new SimulatedStage(about)) } = options;
  const playWith = (played: Gate): ReturnType<typeof play> =>
    play({
      plan,
      targets,
      gate: played,
      openStage: (onFailure) => openStage({ plan, seed, faults, gate: played, onFailure }),
      onProgress: (passedMs) => onProgress({ gate: played, passedMs, durationMs: plan.durationMs }),
    });
  const runs = { on: await playWith("on"), off: await playWith("off") };
  const examined = manifests === undefined ? null : examineManifests(manifests, { apis, releases: plan.releases, way });
  return {
    format: 1,
    settings: { from, to, servers, minutes, time, way, faults, gate, seed },
    plan,
    runs,
    manifests: examined,
    verdict: decideVerdict(runs[gate], examined),
  };
}

function toSample({ object }: Manifest): Sample[] {
  const { apiVersion, kind } = object;
  return typeof apiVersion === "string" && typeof kind === "string" ? [{ apiVersion, kind, object }] : [];
}
