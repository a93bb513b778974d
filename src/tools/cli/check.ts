/** `evenkeel check`: finds the manifests that a release does not accept, before an upgrade does. */
import { Command, InvalidArgumentError } from "commander";
import { parseRuntimeConfig, type RuntimeConfig } from "../../objects/catalog/runtime-config.ts";
import { EXIT_NO_RESULT, type UpgradeFinding } from "../upgrade/finding.ts";
import { manifestFindings } from "../upgrade/manifests/examine.ts";
import { minorOf, NEWEST_KNOWN, OLDEST_KNOWN, releaseOfMinor } from "../upgrade/manifests/known-apis.ts";
import { readManifests, type ReadManifests } from "../upgrade/manifests/read-manifests.ts";
import { isReadFailure } from "../upgrade/manifests/read-problems.ts";
import { exitCodeOf, withoutIgnored } from "../upgrade/report/failing.ts";
import { findingsText, severityCounts } from "../upgrade/report/findings-text.ts";
import { CommandFailure } from "./failure.ts";
import { noteUnmatchedIds, withFindingFlags, type FindingFlags } from "./finding-flags.ts";
import { commaList } from "./flags.ts";
import { readManifestFiles, shownPath } from "./manifest-files.ts";

interface CheckFlags extends FindingFlags {
  readonly from?: number;
  readonly to?: readonly number[];
  readonly crds?: readonly string[];
  readonly runtimeConfig?: readonly string[];
}

const EXAMPLES = `
Reads YAML and JSON files, directories with their subdirectories, and "-" for the standard input. Render Helm charts and
kustomizations first. CRDs among the files are used to check custom resources.

Exit code 0: nothing to fix; 1: a finding of --fail-on or more; 2: a file could not be read or checked.

Examples:
  $ evenkeel check deploy/ --to 1.36
  $ evenkeel check deploy/ --from 1.33 --to 1.34,1.35,1.36
  $ helm template my-release ./chart | evenkeel check - --to 1.36
  $ kustomize build overlays/production | evenkeel check -
  $ evenkeel check app.yaml --crds crds.yaml --ignore deprecated-api -o json
`;

export function checkCommand(): Command {
  const command = new Command("check")
    .summary("Find manifests that a Kubernetes release does not accept")
    .description("Find API versions in manifests that a Kubernetes release has removed, deprecated or does not serve.")
    .argument("<files...>", 'files, directories, or "-" for the standard input')
    .option("--from <release>", "current release of the cluster, for example 1.33", minor)
    .option(
      "--to <releases>",
      `target releases, for example 1.34,1.35 (default: ${releaseOfMinor(NEWEST_KNOWN)})`,
      minors,
    )
    .option("--crds <files>", "files or directories with the CRDs of the cluster", commaList)
    .option("--runtime-config <pairs>", "runtime config of the servers, for example api/beta=true", commaList);
  return withFindingFlags(command)
    .addHelpText("after", EXAMPLES)
    .action((files: string[], flags: CheckFlags) => check(files, flags));
}

function check(files: readonly string[], flags: CheckFlags): void {
  const { from, crds = [], ignore = [], failOn, output } = flags;
  const to = [...(flags.to ?? [NEWEST_KNOWN])].sort((left, right) => left - right);
  if (from !== undefined && from > to[0]!)
    throw new CommandFailure(
      `--to ${releaseOfMinor(to[0]!)} is older than --from ${releaseOfMinor(from)}`,
      EXIT_NO_RESULT,
    );
  const runtimeConfig = runtimeConfigOf(flags.runtimeConfig ?? []);
  const manifestFiles = readManifestFiles(files);
  const read = readManifests(manifestFiles);
  const definitions = readManifests(readManifestFiles(crds));
  const problems = [...read.problems, ...definitions.problems];
  const all = manifestFindings({ ...read, problems }, { from, to, runtimeConfig }, definitions.manifests);
  const findings = withoutIgnored(all, ignore);
  noteUnmatchedIds(all, ignore);
  if (read.manifests.length === 0 && all.length === 0)
    throw new CommandFailure(
      `${files.map(shownPath).join(", ")}: there are no Kubernetes objects to check`,
      EXIT_NO_RESULT,
    );
  const code = codeOf(findings, failOn);
  const result: CheckResult = { read, to, files: manifestFiles.length, findings, code };
  process.stdout.write(output === "json" ? jsonOf(result, from) : textOf(result));
  process.exitCode = code;
}

interface CheckResult {
  readonly read: ReadManifests;
  readonly to: readonly number[];
  readonly files: number;
  readonly findings: readonly UpgradeFinding[];
  readonly code: number;
}

/** A finding counts more than a file that could not be checked, because the user must act on it in any case. */
function codeOf(findings: readonly UpgradeFinding[], failOn: FindingFlags["failOn"]): number {
  const code = exitCodeOf(
    findings.filter((finding) => !isReadFailure(finding)),
    failOn,
  );
  return code === 0 && findings.some(isReadFailure) ? EXIT_NO_RESULT : code;
}

function jsonOf({ read, to, files, findings, code }: CheckResult, from: number | undefined): string {
  const report = {
    format: 1,
    ...(from !== undefined && { from: releaseOfMinor(from) }),
    to: to.map(releaseOfMinor),
    files,
    objects: read.manifests.length,
    exitCode: code,
    findings,
  };
  return `${JSON.stringify(report, undefined, 2)}\n`;
}

function textOf({ read, to, files, findings, code }: CheckResult): string {
  const releases = `Kubernetes ${to.map(releaseOfMinor).join(", ")}`;
  const verdict =
    code === 1 ? "Changes needed for" : code === EXIT_NO_RESULT ? "Could not check everything for" : "Ready for";
  const scope = `${counted(read.manifests.length, "object")} in ${counted(files, "file")}`;
  const others = read.otherFiles === 0 ? "" : ` (${read.otherFiles} without Kubernetes objects)`;
  const text = findingsText(findings, {
    width: process.stdout.columns ?? 80,
    color: process.stdout.isTTY && (process.env["NO_COLOR"] ?? "") === "",
  });
  return `${verdict} ${releases}: ${severityCounts(findings)}; ${scope}${others}.\n${text === "" ? "" : `\n${text}`}`;
}

function counted(count: number, noun: string): string {
  return `${count} ${noun}${count === 1 ? "" : "s"}`;
}

function runtimeConfigOf(pairs: readonly string[]): RuntimeConfig {
  try {
    return parseRuntimeConfig(pairs);
  } catch (thrown) {
    throw new CommandFailure(
      `--runtime-config is invalid: ${thrown instanceof Error ? thrown.message : String(thrown)}`,
      EXIT_NO_RESULT,
    );
  }
}

function minor(text: string): number {
  const value = /^v?1\.[0-9]{1,3}(\.[0-9]+)?$/.test(text) ? minorOf(text.replace(/^v/, "").split(".", 2).join(".")) : 0;
  if (value < OLDEST_KNOWN || value > NEWEST_KNOWN)
    throw new InvalidArgumentError(
      `${JSON.stringify(text)} is not a release from ${releaseOfMinor(OLDEST_KNOWN)} to ${releaseOfMinor(NEWEST_KNOWN)}.`,
    );
  return value;
}

function minors(text: string, before: readonly number[] | undefined): number[] {
  return [...(before ?? []), ...commaList(text, undefined).map(minor)];
}
