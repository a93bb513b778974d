/** `evenkeel status`: shows the servers of a cluster from the view of one server. */
import { Command } from "commander";
import { someOf } from "../../base/some-of.ts";
import { objectAt, stringAt, stringsAt, type JsonObject, objectsAt } from "../../meta/json.ts";
import { requestJson, printable, withServerFlags, type ServerFlags } from "./request-server.ts";
import { alignColumns } from "./columns.ts";

const TARGET = "/evenkeel/v1/status";
/** Exit code if a server is unreachable, its discovery document is missing, or the local server is recovering. */
const INCOMPLETE = 1;
const HEADINGS: readonly string[] = [
  "SERVER",
  "RELEASE",
  "VERSION",
  "ADDRESS",
  "STATE",
  "DISCOVERY AGE",
  "SERVES EXCLUSIVELY",
];

export function statusCommand(): Command {
  return withServerFlags(
    new Command("status")
      .summary("Show the servers of a cluster")
      .description(
        "Show the servers of a cluster from the view of one server: release, version, state, age of their discovery documents " +
          "and resources that only they serve. Exit code 1 if a server is unreachable or has not published its discovery document, " +
          "or if the local server is recovering because the store was restored.",
      ),
  ).action((flags: ServerFlags) => status(flags));
}

async function status(flags: ServerFlags): Promise<void> {
  const response = await requestJson(flags, TARGET);
  process.stdout.write(flags.output === "json" ? `${JSON.stringify(response, undefined, 2)}\n` : statusTable(response));
  if (!isComplete(response)) process.exitCode = INCOMPLETE;
}

/** True if every server is reachable and has published its discovery document, and the local server is not recovering. */
export function isComplete(answer: JsonObject): boolean {
  if (text(objectAt(answer, "storeHistory"), "waitsFor") !== "") return false;
  return objectsAt(answer, "servers").every(
    (server) => server["isReachable"] === true && server["isDescribed"] === true,
  );
}

export function statusTable(answer: JsonObject): string {
  const servers = objectsAt(answer, "servers");
  const rows = servers.map((server) => [
    text(server, "id") + (server["isSelf"] === true ? " (local)" : ""),
    text(server, "release") || "unknown",
    versions(server),
    text(server, "address") || "unknown",
    state(server, answer),
    age(server),
    servers.length === 1 ? "everything" : summary(objectsAt(server, "onlyServes")),
  ]);
  return (
    alignColumns([HEADINGS, ...rows]) + [...notes(answer), ...departures(answer)].map((line) => `\n${line}\n`).join("")
  );
}

/** The binary version of a server, and the emulated release if it differs. */
function versions(server: JsonObject): string {
  const binary = text(server, "binaryVersion");
  const compatibility = text(server, "compatibilityVersion");
  if (binary === "") return "unknown";
  return compatibility === "" || binary.startsWith(`${compatibility}.`) ? binary : `${binary} as ${compatibility}`;
}

function state(server: JsonObject, answer: JsonObject): string {
  const words = [
    server["isReachable"] === true ? "reachable" : "unreachable",
    ...(server["isDescribed"] === true ? [] : ["no discovery document"]),
    ...(server["isDraining"] === true ? ["draining"] : []),
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

/** Group versions with the number of their resources, as "resource.k8s.io/v1 (4), batch/v1 (1) and 2 more". */
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
    ...(proxy["isEnabled"] === true ? [] : ["The mixed version proxy is disabled on the local server."]),
    ...(proxy["isEnabled"] === true && missing !== ""
      ? [`The local server cannot proxy requests to peers: ${missing} is not set.`]
      : []),
    ...(answer["isSynced"] === true ? [] : ["The local server has not synced its peers yet."]),
    ...(fence === "" ? [] : [`The local server rejects writes: ${fence}.`]),
    ...historyNotes(objectAt(answer, "storeHistory")),
  ];
}

function historyNotes(history: JsonObject): string[] {
  const evidence = text(history, "evidence");
  if (evidence === "") return [];
  const waitsFor = text(history, "waitsFor");
  const seconds = history["recoveredAfterSeconds"];
  const recovery =
    waitsFor === ""
      ? `recovered${typeof seconds === "number" ? ` within ${seconds.toFixed(1)} s` : ""}`
      : `is recovering: ${waitsFor}`;
  return [
    `The store was restored or replaced at ${text(history, "detectedAt")}: ${evidence}. The local server ${recovery}.`,
  ];
}

function departures(answer: JsonObject): string[] {
  return objectsAt(answer, "departed").map((departed) => {
    const release = text(departed, "release");
    const who = text(departed, "server") + (release === "" ? "" : ` (${release})`);
    const count = typeof departed["resourceCount"] === "number" ? departed["resourceCount"] : 0;
    return `Departed: ${who} at ${text(departed, "departedAt")}; no server serves ${count} of its resources: ${summary(objectsAt(departed, "resources"))}.`;
  });
}

function text(parent: JsonObject, key: string): string {
  return printable(stringAt(parent, key));
}
