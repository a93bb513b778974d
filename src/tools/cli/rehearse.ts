/** `evenkeel rehearse`: plays an upgrade in virtual time and checks every response that a client receives. */
import { writeFileSync } from "node:fs";
import { relative } from "node:path";
import { Command, InvalidArgumentError, Option } from "commander";
import { isReleaseName, RELEASES, type ReleaseName } from "../../objects/catalog/release.ts";
import { rehearsalHtml } from "../rehearsal/html.ts";
import { runtimeConfigProblem } from "../rehearsal/path-apis.ts";
import { planProblem, releasesBetween, type PlanOptions } from "../rehearsal/plan.ts";
import type { Seed } from "../rehearsal/seed.ts";
import { rejectOverwrite } from "./reject-overwrite.ts";
import { readSeed } from "./rehearse-seed.ts";
import { rehearse, type OpenStage } from "../rehearsal/rehearse.ts";
import type { FaultLevel } from "../rehearsal/report.ts";
import { SUBJECTS, type RehearsalSubject } from "../rehearsal/subject.ts";
import { rehearsalSummary } from "../rehearsal/summary.ts";
import { readManifests, type Manifest, type ReadProblem } from "../upgrade/manifests/read-manifests.ts";
import { isReadFailure, problemSubject } from "../upgrade/manifests/read-problems.ts";
import { CommandFailure } from "./failure.ts";
import { count } from "./flags.ts";
import { RehearsalProgress } from "./rehearse-progress.ts";
import { readManifestFiles } from "./manifest-files.ts";
import { openRealStage } from "./rehearse-real.ts";

interface RehearseFlags {
  readonly from?: ReleaseName;
  readonly to: ReleaseName;
  readonly servers?: number;
  readonly snapshot?: string;
  readonly kubeconfig?: string;
  readonly context?: string;
  readonly manifests?: string;
  readonly down?: boolean;
  readonly minutes?: number;
  readonly faults: FaultLevel;
  readonly subject?: (typeof SUBJECTS)[number];
  readonly seed: number;
  readonly real?: boolean;
  readonly html?: string;
  readonly output?: "json";
}

interface How {
  readonly minutes: number;
  readonly stepMsMin: number;
  readonly openStage: OpenStage | undefined;
}

const VIRTUAL: How = { minutes: 30, stepMsMin: 20_000, openStage: undefined };
const REAL: How = { minutes: 2, stepMsMin: 8_000, openStage: openRealStage };
const SERVERS = 3;
const FAILED = 1;
const USAGE = 2;
const EXAMPLES = `
This is a simulation of the API servers: no request is sent to a real cluster. The plan is played twice with the same
seed: with kube-apiserver as kubeadm sets it up, and with the mixed version proxy (--subject evenkeel: with Evenkeel). A
wrong response is a 404 for an existing object or for a resource that a server of the cluster serves, an acknowledged
object that is missing, a namespace or an object that is deleted too early or never, an object or a field that the
release of a server cannot read, or discovery without a resource that has been served for five seconds. A 503 is
counted, but is not wrong.

Exit code 0: no wrong response in the run of --subject, and no manifest uses an API that the upgrade removes; 1:
otherwise; 2: the plan cannot be played, or a file cannot be used.

Examples:
  $ evenkeel rehearse --from 1.33 --to 1.36
  $ evenkeel rehearse --from 1.33 --to 1.36 --subject kube-apiserver-with-proxy --html rehearsal.html
  $ evenkeel rehearse --snapshot backup.db --to 1.36 --html rehearsal.html
  $ evenkeel rehearse --from 1.31 --to 1.32 --minutes 10 --manifests deploy/ -o json
  $ evenkeel rehearse --from 1.33 --to 1.34 --subject evenkeel --down --faults heavy
`;

/** `version` is the version of Evenkeel, for the report. */
export function rehearseCommand(version: string): Command {
  return new Command("rehearse")
    .summary("Play an upgrade in virtual time and report wrong responses")
    .description(
      "Simulate a rolling upgrade in virtual time, with clients and faults, and report every wrong response that a " +
        "client receives: from kube-apiserver as it comes, and with the mixed version proxy.",
    )
    .option(
      "--from <release>",
      "current release of the cluster, for example 1.33 (default: that of --snapshot or --kubeconfig)",
      release,
    )
    .requiredOption("--to <release>", "target release, reached minor by minor", release)
    .option("--servers <number>", "number of servers (default: those of --snapshot or --kubeconfig, else 3)", count)
    .option("--snapshot <file>", "play the cluster in an etcd snapshot, or in a database of etcd or k3s")
    .option("--kubeconfig <file>", "play the cluster of a kubeconfig; reads it through its API, and changes nothing")
    .option("--context <name>", "context of the kubeconfig (default: its current context)")
    .option(
      "--manifests <directory>",
      "YAML and JSON files to check for APIs that appear, vanish or change their stored version",
    )
    .option("--down", "also play the rollback after the upgrade")
    .option("--minutes <minutes>", "duration in virtual minutes (default: 30; with --real 2, in real time)", minutesOf)
    .addOption(new Option("--faults <level>", "faults to inject").choices(["none", "light", "heavy"]).default("none"))
    .addOption(
      new Option(
        "--subject <servers>",
        "servers that the verdict is about (default: kube-apiserver; with --real evenkeel)",
      ).choices(SUBJECTS),
    )
    .option("--seed <number>", "seed of all randomness; the same seed repeats the same rehearsal", seed, 1)
    .option("--real", "use separate processes and TLS in real time; slower and not repeatable")
    .option("--html <file>", "write a self-contained HTML page with charts")
    .addOption(new Option("-o, --output <format>", "print the whole report instead of the summary").choices(["json"]))
    .addHelpText("after", EXAMPLES)
    .action((flags: RehearseFlags) => rehearseWith(flags, version));
}

async function rehearseWith(flags: RehearseFlags, version: string): Promise<void> {
  const { faults, html } = flags;
  if (html !== undefined) rejectOverwrite("--html", html, [flags.snapshot, flags.kubeconfig]);
  const how = flags.real === true ? REAL : VIRTUAL;
  const subject = subjectOf(flags);
  const cluster = await readSeed(flags);
  const planned = plannedWith(flags, how, cluster);
  const manifests = flags.manifests === undefined ? undefined : openManifests(flags.manifests);
  // Checks that the file can be written before minutes of work, not after them.
  if (html !== undefined) writeHtml(html, "");
  const progress = new RehearsalProgress(process.stderr, () => performance.now());
  const report = await rehearse({
    ...planned,
    faults,
    subject,
    seed: flags.seed,
    about: { version, date: new Date().toISOString(), command: argumentsOf(process.argv) },
    ...(manifests && { manifests }),
    ...(cluster && { cluster }),
    ...(how.openStage && { openStage: how.openStage }),
    onProgress: (passed) => progress.show(passed),
  });
  progress.clear();
  if (html !== undefined) writeHtml(html, rehearsalHtml(report));
  process.stdout.write(
    flags.output === "json"
      ? `${JSON.stringify(report, undefined, 2)}\n`
      : rehearsalSummary(report, process.stdout.columns),
  );
  if (!report.verdict.isPass) process.exitCode = FAILED;
}

function plannedWith(flags: RehearseFlags, { minutes, stepMsMin }: How, cluster: Seed | undefined): PlanOptions {
  const from = fromOf(flags, cluster);
  const planned: PlanOptions = {
    from,
    to: flags.to,
    servers: flags.servers ?? cluster?.servers ?? SERVERS,
    minutes: flags.minutes ?? minutes,
    way: flags.down === true ? "and-back" : "up",
    stepMsMin,
  };
  const runtimeConfig = cluster?.runtimeConfig ?? [];
  const problem = planProblem(planned) ?? runtimeConfigProblem(releasesBetween(from, flags.to), runtimeConfig);
  if (problem !== undefined) throw new CommandFailure(problem, USAGE);
  return planned;
}

function fromOf({ from, snapshot, kubeconfig }: RehearseFlags, cluster: Seed | undefined): ReleaseName {
  const found = from ?? cluster?.from;
  if (found !== undefined) return found;
  const file = snapshot ?? kubeconfig;
  if (file === undefined) throw new CommandFailure("--from, --snapshot or --kubeconfig must be set", USAGE);
  throw new CommandFailure(`${file} does not show the release of the cluster: set --from`, USAGE);
}

function subjectOf({ subject, real }: RehearseFlags): RehearsalSubject {
  if (real !== true) return subject ?? "kube-apiserver";
  if (subject !== undefined && subject !== "evenkeel")
    throw new CommandFailure(`--real starts servers of Evenkeel, so it cannot play --subject ${subject}`, USAGE);
  return "evenkeel";
}

/** The arguments of this command, with which a user can repeat it. */
function argumentsOf(argv: readonly string[]): readonly string[] {
  return argv.slice(argv.indexOf("rehearse") + 1);
}

function writeHtml(file: string, text: string): void {
  try {
    writeFileSync(file, text);
  } catch (thrown) {
    throw new CommandFailure(`${file} cannot be written: ${reasonOf(thrown)}`, USAGE);
  }
}

function openManifests(directory: string): Manifest[] {
  const files = readManifestFiles([directory]).map((file) => ({
    ...file,
    path: relative(directory, file.path) || file.path,
  }));
  const { manifests, problems } = readManifests(files);
  const failure = problems.find(isReadFailure);
  if (failure !== undefined) throw new CommandFailure(failureText(failure), USAGE);
  if (manifests.length === 0)
    throw new CommandFailure(`${directory} contains no manifests (*.yaml, *.yml, *.json)`, USAGE);
  return [...manifests];
}

function failureText(failure: ReadProblem): string {
  return failure.id === "template" ? problemSubject(failure).name : `${failure.file} cannot be read: ${failure.reason}`;
}

function reasonOf(thrown: unknown): string {
  return thrown instanceof Error ? thrown.message : String(thrown);
}

function release(text: string): ReleaseName {
  if (!isReleaseName(text))
    throw new InvalidArgumentError(`${JSON.stringify(text)} is not one of ${RELEASES.join(", ")}.`);
  return text;
}

function minutesOf(text: string): number {
  if (!/^[0-9]{1,6}(\.[0-9]{1,2})?$/.test(text) || Number(text) === 0)
    throw new InvalidArgumentError(`${JSON.stringify(text)} is not a number of minutes greater than zero.`);
  return Number(text);
}

function seed(text: string): number {
  if (!/^[0-9]{1,9}$/.test(text)) throw new InvalidArgumentError(`${JSON.stringify(text)} is not a whole number.`);
  return Number(text);
}
