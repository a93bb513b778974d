/** `evenkeel status`: the servers of a cluster, as one of them sees it. */
import { Command } from "commander";
import { someOf } from "../../base/some-of.ts";
import { objectAt, stringAt, stringsAt, type JsonObject, objectsAt } from "../../meta/json.ts";
import { requestJson, printable, withServerFlags, type ServerFlags } from "./request-server.ts";
import { alignColumns } from "./columns.ts";

const TARGET = "/evenkeel/v1/status";
/** A server cannot be reached, or what it serves is not known. */
const INCOMPLETE = 1;
const HEADINGS: readonly string[] = ["SERVER", "RELEASE", "VERSION", "ADDRESS", "STATE", "AGE", "ONLY IT SERVES"];

export function statusCommand(): Command {
  return withServerFlags(
    new Command("status").description(
      "Show the servers of a cluster as one of them sees it: release, versions, reachable, how old what is known of " +
        "them is, and what only they serve. Exit code 1 when one is not reachable or has not said what it serves.",
    ),
  ).action((flags: ServerFlags) => status(flags));
}

async function status(flags: ServerFlags): Promise<void> {
  const answer = await requestJson(flags, TARGET);
  process.stdout.write(flags.output === "json" ? `${JSON.stringify(answer, undefined, 2)}\n` : statusTable(answer));
  if (!isComplete(answer)) process.exitCode = INCOMPLETE;
}

/** Every server can be reached and has said what it serves. */
export function isComplete(answer: JsonObject): boolean {
  return objectsAt(answer, "servers").every(
    (server) => server["isReachable"] === true && server["isDescribed"] === true,
  );
}

export function statusTable(answer: JsonObject): string {
  const servers = objectsAt(answer, "servers");
  const rows = servers.map((server) => [
    text(server, "id") + (server["isSelf"] === true ? " (asked)" : ""),
    text(server, "release") || "not told",
    versions(server),
    text(server, "address") || "not known",
    state(server, answer),
    age(server),
    servers.length === 1 ? "everything" : summary(objectsAt(server, "onlyServes")),
  ]);
  return (
    alignColumns([HEADINGS, ...rows]) + [...notes(answer), ...departures(answer)].map((line) => `\n${line}\n`).join("")
  );
}

/** The binary's, and what it behaves as if that is something else. */
function versions(server: JsonObject): string {
  const binary = text(server, "binaryVersion");
  const compatibility = text(server, "compatibilityVersion");
  if (binary === "") return "not told";
  return compatibility === "" || binary.startsWith(`${compatibility}.`) ? binary : `${binary} as ${compatibility}`;
}

function state(server: JsonObject, answer: JsonObject): string {
  const words = [
    server["isReachable"] === true ? "reachable" : "unreachable",
    ...(server["isDescribed"] === true ? [] : ["not described"]),
    ...(server["isDraining"] === true ? ["leaving"] : []),
    ...(server["isSelf"] === true && text(answer, "fence") !== "" ? ["fenced"] : []),
  ];
  return words.join(", ");
}

function age(server: JsonObject): string {
  if (server["isSelf"] === true) return "-";
  const seconds = server["documentAgeSeconds"];
  if (typeof seconds !== "number") return "never";
  return seconds < 120 ? `${Math.round(seconds)}s` : `${Math.round(seconds / 60)}m`;
}

const SHOWN_MAX = 3;

/** "resource.k8s.io/v1 (4), batch/v1 (1) and 2 more": each with how many of its resources. */
function summary(groupVersions: readonly JsonObject[]): string {
  if (groupVersions.length === 0) return "nothing";
  const names = groupVersions.map((one) => `${text(one, "groupVersion")} (${stringsAt(one, "resources").length})`);
  return someOf(names, SHOWN_MAX);
}

function notes(answer: JsonObject): string[] {
  const proxy = objectAt(answer, "proxy");
  const missing = text(proxy, "missingFlag");
  const fence = text(answer, "fence");
  return [
    ...(proxy["isEnabled"] === true ? [] : ["The mixed version proxy is off on the server that was asked."]),
    ...(proxy["isEnabled"] === true && missing !== ""
      ? [`The server that was asked cannot call others: ${missing} is not set.`]
      : []),
    ...(answer["isSynced"] === true ? [] : ["The server that was asked does not know the others yet."]),
    ...(fence === "" ? [] : [`The server that was asked takes no writes: ${fence}.`]),
  ];
}

function departures(answer: JsonObject): string[] {
  return objectsAt(answer, "departed").map((departed) => {
    const release = text(departed, "release");
    const who = text(departed, "server") + (release === "" ? "" : ` (${release})`);
    const count = typeof departed["resourceCount"] === "number" ? departed["resourceCount"] : 0;
    return `Departed: ${who} left at ${text(departed, "departedAt")}; ${count} resources that nobody serves now: ${summary(objectsAt(departed, "resources"))}.`;
  });
}

function text(parent: JsonObject, key: string): string {
  return printable(stringAt(parent, key));
}
