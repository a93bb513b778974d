/** `evenkeel stored-versions`: shows the stored versions of all objects, by resource. */
import { Command } from "commander";
import { printable } from "../../base/printable.ts";
import { formatGroupResource } from "../../meta/group-version.ts";
import { objectsAt, stringAt, type JsonObject } from "../../meta/json.ts";
import { numberOrZero, requestReport } from "./request-report.ts";
import { connectionOf, withServerFlags, type ServerFlags } from "./request-server.ts";
import { alignColumns } from "../../base/columns.ts";
import { ProgressLine } from "./progress-line.ts";

const TARGET = "/evenkeel/v1/stored-versions";
const HEADINGS: readonly string[] = ["RESOURCE", "VERSION", "OBJECTS", "NOTE"];

export function storedVersionsCommand(): Command {
  return withServerFlags(
    new Command("stored-versions")
      .summary("Show the stored versions of each resource")
      .description(
        "Read the whole store through a server and show the stored versions of each resource. Resources with several stored " +
          "versions, and versions that the server's release does not write, are marked.",
      ),
  ).action((flags: ServerFlags) => storedVersions(flags));
}

async function storedVersions(flags: ServerFlags): Promise<void> {
  const report = await requestReportWithProgress(flags, TARGET);
  process.stdout.write(
    flags.output === "json" ? `${JSON.stringify(report, undefined, 2)}\n` : storedVersionsText(report),
  );
}

/** Requests the report and shows its progress on standard error, if that is a terminal. */
export async function requestReportWithProgress(flags: ServerFlags, target: string): Promise<JsonObject> {
  const line = new ProgressLine(process.stderr);
  try {
    return await requestReport(connectionOf(flags), target, (progress) => line.show(progress));
  } finally {
    line.clear();
  }
}

export function storedVersionsText(report: JsonObject): string {
  const resources = objectsAt(report, "resources");
  const [release, binary] = [text(report, "release"), text(report, "binary")];
  const server = binary === "" ? release : `${binary} as ${release}`;
  const rows = resources.flatMap((resource) => rowsOf(resource, server));
  const objects = resources
    .flatMap((resource) => objectsAt(resource, "versions"))
    .reduce((sum, version) => sum + numberOrZero(version, "objects"), 0);
  const privateKeys = numberOrZero(report, "privateKeys");
  const summary =
    `${objects} objects of ${resources.length} resources at revision ${numberOrZero(report, "revision")}` +
    (privateKeys === 0 ? "" : `, and ${privateKeys} internal keys of servers`);
  return `${alignColumns([HEADINGS, ...rows])}\n${summary}.\n${surveyNotes(report)}`;
}

function rowsOf(resource: JsonObject, release: string): string[][] {
  const name = resourceName(resource);
  const versions = objectsAt(resource, "versions");
  const writes = text(resource, "writes");
  const unreadable = numberOrZero(resource, "unreadable");
  const rows = versions.map((version) => {
    const apiVersion = text(version, "apiVersion");
    const marks = [
      ...(versions.length > 1 ? [`one of ${versions.length} stored versions`] : []),
      ...(writes === "" ? [`${release} does not have this resource`] : []),
      ...(writes !== "" && writes !== apiVersion ? [`${release} writes ${writes}`] : []),
    ];
    return [name, apiVersion, String(numberOrZero(version, "objects")), mark(marks)];
  });
  if (unreadable > 0) rows.push([name, "unknown", String(unreadable), mark(["cannot be decoded"])]);
  return rows;
}

function mark(marks: readonly string[]): string {
  return marks.length === 0 ? "" : `! ${marks.join(", ")}`;
}

/** Notes about keys that could not be classified, and about limits of the report's accuracy. */
export function surveyNotes(report: JsonObject): string {
  const unknown = objectsAt(report, "unknown").map((one) => `${text(one, "prefix")} (${numberOrZero(one, "keys")})`);
  const notes = [
    ...(unknown.length === 0
      ? []
      : [`Keys that belong to no built-in resource, for example of custom resources: ${unknown.join(", ")}.`]),
    ...(report["isSnapshot"] === false
      ? ["History was compacted during the walk: objects written meanwhile may be counted in their new version."]
      : []),
  ];
  return notes.map((note) => `${note}\n`).join("");
}

/** Resource and group, such as "resourceclaims.resource.k8s.io". */
export function resourceName(entry: JsonObject): string {
  return formatGroupResource({ group: text(entry, "group"), resource: text(entry, "resource") });
}

export function text(parent: JsonObject, key: string): string {
  return printable(stringAt(parent, key));
}
