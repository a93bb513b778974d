/** `evenkeel rollback-check`: lists the objects that a server of another release could not read or would not serve. */
import { Command } from "commander";
import { objectsAt, type JsonObject } from "../../meta/json.ts";
import { numberOrZero } from "./request-report.ts";
import { withServerFlags, type ServerFlags } from "./request-server.ts";
import { CommandFailure } from "./failure.ts";
import { commaList } from "./flags.ts";
import { requestReportWithProgress, resourceName, surveyNotes, text } from "./stored-versions.ts";

interface RollbackFlags extends ServerFlags {
  readonly to: string;
  readonly emulatedVersion?: readonly string[];
  readonly runtimeConfig?: readonly string[];
  readonly featureGates?: readonly string[];
}

interface RollbackTarget {
  readonly to: string;
  readonly emulatedVersion?: readonly string[];
  readonly runtimeConfig: readonly string[];
  readonly featureGates: readonly string[];
}

const FOUND = 1;
const NOT_CHECKED = 2;

export function rollbackCheckCommand(): Command {
  return withServerFlags(
    new Command("rollback-check")
      .summary("List the objects that prevent a rollback")
      .description(
        "Read the whole store through a server and list the objects that a server of another release could not read " +
          "or would not serve. Exit code 0 if there are none, 1 if there are some, 2 if the check failed.",
      )
      .requiredOption("--to <release>", "release to roll back to, for example 1.33")
      .option("--emulated-version <version>", "release that the servers emulate after the rollback", commaList)
      .option(
        "--runtime-config <pairs>",
        "runtime config of the servers after the rollback, for example resource.k8s.io/v1beta1=true",
        commaList,
      )
      .option(
        "--feature-gates <pairs>",
        "feature gates of the servers after the rollback, Name=true or Name=false",
        commaList,
      ),
  ).action((flags: RollbackFlags) => rollbackCheck(flags));
}

async function rollbackCheck(flags: RollbackFlags): Promise<void> {
  const { to, emulatedVersion = [], runtimeConfig = [], featureGates = [] } = flags;
  const report = await asNotChecked(
    requestReportWithProgress(flags, rollbackCheckPath({ to, emulatedVersion, runtimeConfig, featureGates })),
  );
  process.stdout.write(
    flags.output === "json" ? `${JSON.stringify(report, undefined, 2)}\n` : rollbackCheckText(report),
  );
  if (objectsAt(report, "findings").length > 0) process.exitCode = FOUND;
}

/** Gives a failed check its own exit code, so that it does not look like a finding. */
async function asNotChecked<T>(asked: Promise<T>): Promise<T> {
  try {
    return await asked;
  } catch (thrown) {
    throw thrown instanceof CommandFailure ? new CommandFailure(thrown.message, NOT_CHECKED) : thrown;
  }
}

export function rollbackCheckPath(target: RollbackTarget): string {
  const { to, emulatedVersion = [], runtimeConfig, featureGates } = target;
  const query = new URLSearchParams({ to });
  for (const version of emulatedVersion) query.append("emulatedVersion", version);
  for (const pair of runtimeConfig) query.append("runtimeConfig", pair);
  for (const pair of featureGates) query.append("featureGates", pair);
  return `/evenkeel/v1/rollback-check?${query.toString()}`;
}

export function rollbackCheckText(report: JsonObject): string {
  const objects = numberOrZero(report, "objects");
  const to = text(report, "to");
  const count = findingCount(report);
  const verdict =
    count === 0
      ? `A server of Kubernetes ${to} can read and serve all ${objects} objects.\n`
      : `A server of Kubernetes ${to} could not read or would not serve ${count} of ${objects} objects.\n\n${rollbackFindingsText(report, Infinity)}\n`;
  return verdict + brokenNotes(report) + surveyNotes(report);
}

export function findingCount(report: JsonObject): number {
  return objectsAt(report, "findings").reduce((sum, finding) => sum + numberOrZero(finding, "count"), 0);
}

/** The findings as text: each reason with its objects, of which at most `namesMax` are named. */
export function rollbackFindingsText(report: JsonObject, namesMax: number): string {
  let room = namesMax;
  return objectsAt(report, "findings")
    .map((finding) => {
      const names = objectsAt(finding, "names").slice(0, room);
      room -= names.length;
      const hidden = numberOrZero(finding, "count") - names.length;
      const shown = names.map((name) => `  ${objectName(finding, name)}\n`).join("");
      return `${text(finding, "reason")}:\n${shown}${hidden > 0 ? `  ${shown === "" ? "" : "and "}${hidden} more\n` : ""}`;
    })
    .join("");
}

function objectName(finding: JsonObject, object: JsonObject): string {
  return `${resourceName(finding)} ${placeName(object)} (${text(finding, "storedVersion")})`;
}

function placeName(object: JsonObject): string {
  const [namespace, name] = [text(object, "namespace"), text(object, "name")];
  return namespace === "" ? name : `${namespace}/${name}`;
}

const BROKEN_SHOWN_MAX = 10;

function brokenNotes(report: JsonObject): string {
  return objectsAt(report, "broken")
    .map((one) => {
      const names = objectsAt(one, "names").slice(0, BROKEN_SHOWN_MAX).map(placeName).join(", ");
      const subject = `${numberOrZero(one, "count")} values of ${resourceName(one)}`;
      return `${subject} cannot be decoded by any release${names === "" ? "" : `, for example ${names}`}.\n`;
    })
    .join("");
}
