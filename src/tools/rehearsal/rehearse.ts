/** Rehearses an upgrade: plays the plan twice with one seed, for the subject and for what it is compared with. */
import { formatGroupResource } from "../../meta/group-version.ts";
import { customTargets } from "./custom-targets.ts";
import type { Seed } from "./seed.ts";
import type { Manifest } from "../upgrade/manifests/read-manifests.ts";
import { examineManifests } from "./manifests.ts";
import { pathApis } from "./path-apis.ts";
import { createPlan, type PlanOptions } from "./plan.ts";
import { play } from "./play.ts";
import {
  decideVerdict,
  judgedRun,
  type FaultLevel,
  type RehearsalReport,
  type ReportAbout,
  type RunReport,
} from "./report.ts";
import { SimulatedStage } from "./simulated-stage.ts";
import type { RehearsalStage, StageOptions } from "./stage.ts";
import { playedSubjects, type RehearsalSubject } from "./subject.ts";
import { loadTargets, weightIn, type Sample } from "./targets.ts";

export interface RehearseOptions extends PlanOptions {
  readonly faults: FaultLevel;
  /** The run that the verdict is about. */
  readonly subject: RehearsalSubject;
  readonly seed: number;
  readonly about: ReportAbout;
  readonly manifests?: readonly Manifest[];
  /** The cluster of the user. Its servers and its release are options of the plan. */
  readonly cluster?: Seed | undefined;
  /** Opens the stage. Default: in virtual time. */
  readonly openStage?: OpenStage;
  /** Called with the elapsed time of the current run. */
  readonly onProgress?: (progress: PlayProgress) => void;
}

export type OpenStage = (options: StageOptions) => Promise<RehearsalStage>;

export interface PlayProgress {
  readonly subject: RehearsalSubject;
  /** Number of this run, from 1. */
  readonly run: number;
  readonly runs: number;
  readonly passedMs: number;
  readonly durationMs: number;
}

/** The options must be valid: `planProblem` returns undefined for them. */
export async function rehearse(options: RehearseOptions): Promise<RehearsalReport> {
  const {
    from,
    to,
    servers,
    minutes,
    way,
    faults,
    subject,
    seed,
    manifests,
    about,
    cluster,
    onProgress = () => {},
  } = options;
  const time = options.openStage === undefined ? "virtual" : "real";
  const plan = createPlan(options);
  const { runtimeConfig = [], kinds, crds = [] } = cluster ?? {};
  const apis = pathApis(plan.releases, runtimeConfig);
  const targets = [
    ...loadTargets(apis, plan.releases, { samples: (manifests ?? []).flatMap(toSample), kinds }),
    ...customTargets(crds, weightIn(kinds)),
  ];
  const resources = new Set(targets.map(({ group, resource }) => `${group}/${resource}`));
  const { openStage = (stage): Promise<RehearsalStage> => Promise.resolve(new SimulatedStage(stage)) } = options;
  const { durationMs } = plan;
  const subjects = playedSubjects(subject, time);
  const runs: RunReport[] = [];
  for (const [index, played] of subjects.entries()) {
    const progress = { subject: played, run: index + 1, runs: subjects.length, durationMs };
    runs.push(
      await play({
        plan,
        targets,
        crds,
        subject: played,
        openStage: (onFailure) =>
          openStage({ plan, seed, faults, subject: played, runtimeConfig, resources, onFailure }),
        onProgress: (passedMs) => onProgress({ ...progress, passedMs }),
      }),
    );
  }
  const settings = { from, to, servers, minutes, time, way, faults, subject, seed } as const;
  const examined = manifests === undefined ? null : examineManifests(manifests, { apis, releases: plan.releases, way });
  const judged = judgedRun({ runs, settings });
  const others = runs.filter((run) => run !== judged);
  return {
    format: 2,
    about,
    settings,
    plan,
    runs,
    cluster: cluster === undefined ? null : clusterReport(cluster, resources),
    manifests: examined,
    verdict: decideVerdict(judged, others, examined),
  };
}

function clusterReport(
  { source, runtimeConfig, kinds }: Seed,
  played: ReadonlySet<string>,
): NonNullable<RehearsalReport["cluster"]> {
  const missing = kinds.filter(({ group, resource }) => !played.has(`${group}/${resource}`));
  return { source, runtimeConfig, kinds, notPlayed: missing.map(formatGroupResource) };
}

function toSample({ object }: Manifest): Sample[] {
  const { apiVersion, kind } = object;
  return typeof apiVersion === "string" && typeof kind === "string" ? [{ apiVersion, kind, object }] : [];
}
