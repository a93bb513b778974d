/** `evenkeel stored-versions`: in which versions the objects of a store are encoded. */
import { Command } from "commander";
import { formatGroupResource } from "../../meta/group-version.ts";
import { objectsAt, stringAt, type JsonObject } from "../../meta/json.ts";
import { numberOrZero, requestReport } from "./request-report.ts";
import { connectionOf, printable, withServerFlags, type ServerFlags } from "./request-server.ts";
import { alignColumns } from "./columns.ts";
import { ProgressLine } from "./progress-line.ts";

const TARGET = "/evenkeel/v1/stored-versions";
const HEADINGS: readonly string[] = ["RESOURCE", "VERSION", "OBJECTS", "NOTE"];

export function storedVersionsCommand(): Command {
  return withServerFlags(
    new Command("stored-versions").description(
      "Read the whole store through a server and show, for each resource, in which versions its objects are stored: " +
        "several at a time, and versions that the server's release would not write, are marked.",
    ),
  ).action((flags: ServerFlags) => storedVersions(flags));
}

async function storedVersions(flags: ServerFlags): Promise<void> {
  const report = await askWithProgress(flags, TARGET);
  process.stdout.write(
    flags.output === "json" ? `${JSON.stringify(report, undefined, 2)}\n` : storedVersionsText(report),
  );
}

/** Shows on standard error how far it is, where that is a terminal. */
export async function askWithProgress(flags: ServerFlags, target: string): Promise<JsonObject> {
  const line = new ProgressLine(process.stderr);
  try {
    return await requestReport(connectionOf(flags), target, (progress) => line.show(progress));
  } finally {
    line.clear();
  }
}

export function storedVersionsText(report: JsonObject): string {
  const resources = objectsAt(report, "resources");
  const release = text(report, "release");
  const rows = resources.flatMap((resource) => rowsOf(resource, release));
  const objects = resources
    .flatMap((resource) => objectsAt(resource, "versions"))
    .reduce((sum, version) => sum + numberOrZero(version, "objects"), 0);
  const privateKeys = numberOrZero(report, "privateKeys");
  const summary =
    `${objects} objects of ${resources.length} resources at revision ${numberOrZero(report, "revision")}` +
    (privateKeys === 0 ? "" : `, and ${privateKeys} keys that servers keep for themselves`);
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
      ...(versions.length > 1 ? [`one of ${versions.length} versions`] : []),
      ...(writes === "" ? [`${release} does not know it`] : []),
      ...(writes !== "" && writes !== apiVersion ? [`${release} writes ${writes}`] : []),
    ];
    return [name, apiVersion, String(numberOrZero(version, "objects")), mark(marks)];
  });
  if (unreadable > 0) rows.push([name, "unknown", String(unreadable), mark(["cannot be read"])]);
  return rows;
}

function mark(marks: readonly string[]): string {
  return marks.length === 0 ? "" : `! ${marks.join(", ")}`;
}

/** What a walk could not judge, and how far it can be trusted. */
export function surveyNotes(report: JsonObject): string {
  const unknown = objectsAt(report, "unknown").map((one) => `${text(one, "prefix")} (${numberOrZero(one, "keys")})`);
  const notes = [
    ...(unknown.length === 0
      ? []
      : [`Keys of no resource that any release stores, such as custom resources: ${unknown.join(", ")}.`]),
    ...(report["isSnapshot"] === false
      ? ["History was compacted during the walk: objects that were written meanwhile may be counted as they are now."]
      : []),
  ];
  return notes.map((note) => `${note}\n`).join("");
}

/** "resourceclaims.resource.k8s.io" */
export function resourceName(entry: JsonObject): string {
  return formatGroupResource({ group: text(entry, "group"), resource: text(entry, "resource") });
}

export function text(parent: JsonObject, key: string): string {
  return printable(stringAt(parent, key));
}
