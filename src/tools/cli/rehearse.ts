/** `evenkeel rehearse`: plays an upgrade in virtual time and checks every response that a client receives. */
import { writeFileSync } from "node:fs";
import { relative } from "node:path";
import { Command, InvalidArgumentError, Option } from "commander";
import { isReleaseName, RELEASES, type ReleaseName } from "../../objects/catalog/release.ts";
import { rehearsalHtml } from "../rehearsal/html.ts";
import { planProblem } from "../rehearsal/plan.ts";
import { rehearse, type OpenStage, type PlayProgress } from "../rehearsal/rehearse.ts";
import type { FaultLevel, Gate } from "../rehearsal/report.ts";
import { rehearsalSummary } from "../rehearsal/summary.ts";
import { readManifests, type Manifest, type ReadProblem } from "../upgrade/manifests/read-manifests.ts";
import { isReadFailure, problemSubject } from "../upgrade/manifests/read-problems.ts";
import { CommandFailure } from "./failure.ts";
import { count } from "./flags.ts";
import { readManifestFiles } from "./manifest-files.ts";
import type { Terminal } from "./progress-line.ts";
import { openRealStage } from "./rehearse-real.ts";

interface RehearseFlags {
  readonly from: ReleaseName;
  readonly to: ReleaseName;
  readonly servers: number;
  readonly manifests?: string;
  readonly down?: boolean;
  readonly minutes?: number;
  readonly faults: FaultLevel;
  readonly gate: Gate;
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
const FAILED = 1;
const USAGE = 2;
const EXAMPLES = `
The plan is played twice with the same seed, with and without the mixed version proxy. A wrong response is a 404 for
an existing object or for a resource that a server of the cluster serves, an acknowledged object that is missing, a
namespace or an object that is deleted too early or never, or discovery without a resource that has been served for
five seconds. A 503 is counted, but is not wrong.

Exit code 0: no wrong response in the run of --gate, and no manifest uses an API that the upgrade removes; 1: otherwise;
2: the plan cannot be played, or a file cannot be used.

Examples:
  $ evenkeel rehearse --from 1.33 --to 1.36
  $ evenkeel rehearse --from 1.33 --to 1.36 --down --faults heavy --html rehearsal.html
  $ evenkeel rehearse --from 1.31 --to 1.32 --minutes 10 --manifests deploy/ -o json
  $ evenkeel rehearse --from 1.33 --to 1.34 --gate off
`;

export function rehearseCommand(): Command {
  return new Command("rehearse")
    .summary("Play an upgrade in virtual time and report wrong responses")
    .description(
      "Play a rolling upgrade in virtual time with the real server code, with clients and faults, and report every " +
        "wrong response that a client receives, with and without the mixed version proxy.",
    )
    .requiredOption("--from <release>", "current release of the cluster, for example 1.33", release)
    .requiredOption("--to <release>", "target release, reached minor by minor", release)
    .option("--servers <number>", "number of servers in the cluster", count, 3)
    .option(
      "--manifests <directory>",
      "YAML and JSON files to check for APIs that appear, vanish or change their stored version",
    )
    .option("--down", "also play the rollback after the upgrade")
    .option("--minutes <minutes>", "duration in virtual minutes (default: 30; with --real 2, in real time)", minutesOf)
    .addOption(new Option("--faults <level>", "faults to inject").choices(["none", "light", "heavy"]).default("none"))
    .addOption(
      new Option("--gate <state>", "run that the verdict is about: with the proxy (on) or without it (off)")
        .choices(["on", "off"])
        .default("on"),
    )
    .option("--seed <number>", "seed of all randomness; the same seed repeats the same rehearsal", seed, 1)
    .option("--real", "use separate processes and TLS in real time; slower and not repeatable")
    .option("--html <file>", "write a self-contained HTML page with charts")
    .addOption(new Option("-o, --output <format>", "print the whole report instead of the summary").choices(["json"]))
    .addHelpText("after", EXAMPLES)
    .action((flags: RehearseFlags) => rehearseWith(flags));
}

async function rehearseWith(flags: RehearseFlags): Promise<void> {
  const { from, to, servers, faults, gate, html } = flags;
  const how = flags.real === true ? REAL : VIRTUAL;
  const { minutes = how.minutes } = flags;
  const way = flags.down === true ? "and-back" : "up";
  const planned = { from, to, servers, minutes, way, stepMsMin: how.stepMsMin } as const;
  const problem = planProblem(planned);
  if (problem !== undefined) throw new CommandFailure(problem, USAGE);
  const manifests = flags.manifests === undefined ? undefined : openManifests(flags.manifests);
  // Checks that the file can be written before minutes of work, not after them.
  if (html !== undefined) writeHtml(html, "");
  const progress = new RehearsalProgress(process.stderr);
  const report = await rehearse({
    ...planned,
    faults,
    gate,
    seed: flags.seed,
    ...(manifests && { manifests }),
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

/** Shows the progress of a rehearsal, on a terminal only. */
class RehearsalProgress {
  readonly #terminal: Terminal;

  constructor(terminal: Terminal) {
    this.#terminal = terminal;
  }

  show({ gate, passedMs, durationMs }: PlayProgress): void {
    if (this.#terminal.isTTY !== true) return;
    const [minute, minutes] = [Math.floor(passedMs / 60_000), Math.ceil(durationMs / 60_000)];
    const which = gate === "on" ? "with the proxy" : "without the proxy";
    this.#terminal.write(`\r\u001b[Kminute ${minute} of ${minutes}, ${which}`);
  }

  clear(): void {
    if (this.#terminal.isTTY === true) this.#terminal.write("\r\u001b[K");
  }
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
