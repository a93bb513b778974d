/** `evenkeel status`: shows the servers of a cluster from the view of one server. */
import { Command } from "commander";
import { printable } from "../../base/printable.ts";
import { someOf } from "../../base/some-of.ts";
import { objectAt, stringAt, stringsAt, type JsonObject, objectsAt } from "../../meta/json.ts";
import { requestJson, withServerFlags, type ServerFlags } from "./request-server.ts";
import { alignColumns } from "../../base/columns.ts";

const TARGET = "/evenkeel/v1/status";
/** Exit code if the cluster is not complete: see `isComplete`. */
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
          "and resources that only they serve; then the servers that departed recently. Exit code 1 if a server is unreachable, " +
          "has not published its discovery document, or departed within --departed-grace by a crash or with resources that no " +
          "other server serves, or if the local server is recovering because the store was restored.",
      ),
  ).action((flags: ServerFlags) => status(flags));
}

async function status(flags: ServerFlags): Promise<void> {
  const response = await requestJson(flags, TARGET);
  process.stdout.write(flags.output === "json" ? `${JSON.stringify(response, undefined, 2)}\n` : statusTable(response));
  if (!isComplete(response)) process.exitCode = INCOMPLETE;
}

/**
 * True if every server is reachable and has published its discovery document, no server is missing, and the local server
 * is not recovering from a restore of the store. A server that has departed is missing during its grace period, unless it
 * was shut down and other servers serve all of its resources: then it was removed, and a script that waits for the
 * cluster need not wait for the end of the grace period.
 */
export function isComplete(answer: JsonObject): boolean {
  if (text(objectAt(answer, "storeHistory"), "waitsFor") !== "") return false;
  const isUsable = (server: JsonObject): boolean => server["isReachable"] === true && server["isDescribed"] === true;
  const isMissing = (departed: JsonObject): boolean =>
    departed["isGone"] === true && (departed["isGraceful"] !== true || departed["resourceCount"] !== 0);
  return objectsAt(answer, "servers").every(isUsable) && !objectsAt(answer, "departed").some(isMissing);
}

export function statusTable(answer: JsonObject): string {
  const servers = objectsAt(answer, "servers");
  const rows = servers.map((server) => [
    text(server, "id") + (server["isSelf"] === true ? " (local)" : ""),
    text(server, "release") || assumed(text(server, "assumedRelease")),
    versions(server),
    text(server, "address") || "unknown",
    state(server, answer),
    age(server),
    servers.length === 1 ? "everything" : summary(objectsAt(server, "onlyServes")),
  ]);
  return (
    alignColumns([HEADINGS, ...rows]) +
    [...notes(answer), ...departures(answer), ...controllers(answer)].map((line) => `\n${line}\n`).join("")
  );
}

function assumed(release: string): string {
  return release === "" ? "unknown" : `${release} (assumed)`;
}

/** The binary version of a server, and the emulated release if it differs. */
function versions(server: JsonObject): string {
  const binary = text(server, "binaryVersion");
  const compatibility = text(server, "compatibilityVersion");
  if (binary === "") return "unknown";
  return compatibility === "" || binary.startsWith(`${compatibility}.`) ? binary : `${binary} as ${compatibility}`;
}

function state(server: JsonObject, answer: JsonObject): string {
  const unreachable = text(server, "unreachableBecause");
  const undescribed = text(server, "undescribedBecause");
  const words = [
    server["isReachable"] === true ? "reachable" : `unreachable${inParentheses(unreachable)}`,
    ...(server["isDescribed"] === true
      ? []
      : [`no discovery document${inParentheses(undescribed === unreachable ? "" : undescribed)}`]),
    ...(server["isDraining"] === true ? ["draining"] : []),
    ...(server["isSelf"] === true && text(answer, "fence") !== "" ? ["fenced"] : []),
  ];
  return words.join(", ");
}

function inParentheses(reason: string): string {
  return reason === "" ? "" : ` (${reason})`;
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
    ...serviceNotes(answer),
    ...objectsAt(answer, "overdue").map(
      (server) => `${text(server, "server")} (${text(server, "release")}) is starting, and is not ready in time.`,
    ),
    ...lackNotes(answer),
    ...leaseNotes(answer),
    ...historyNotes(objectAt(answer, "storeHistory")),
  ];
}

/** Why clients in the cluster cannot reach the local server through the kubernetes Service. */
function serviceNotes(answer: JsonObject): string[] {
  const service = objectAt(answer, "kubernetesService");
  const reason = text(service, "notPublished");
  if (reason === "") return [];
  const addresses = stringsAt(service, "addresses").map((address) => printable(address));
  const others = addresses.length === 0 ? "has no endpoints" : `has the endpoints ${someOf(addresses, SHOWN_MAX)}`;
  return [`The Service default/kubernetes ${others}. The local server publishes no endpoint: ${reason}.`];
}

/** The gaps of each kube-apiserver. */
function lackNotes(answer: JsonObject): string[] {
  return objectsAt(answer, "servers").flatMap((server) => {
    const lacks = stringsAt(server, "lacks").map((lack) => printable(lack));
    return lacks.length === 0 ? [] : [`${text(server, "id")}: ${lacks.join("; ")}.`];
  });
}

function leaseNotes(answer: JsonObject): string[] {
  const ignored = objectAt(answer, "ignoredLeases");
  const servers = stringsAt(ignored, "servers").map((server) => printable(server));
  if (servers.length === 0) return [];
  const count = typeof ignored["count"] === "number" ? ignored["count"] : servers.length;
  return [
    `${count} identity leases in kube-system do not count as servers, because nothing else shows that their servers exist: ${someOf(servers, SHOWN_MAX)}.`,
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
    const count = numberAt(departed, "resourceCount");
    const ago = `gone ${duration(numberAt(departed, "secondsAgo"))} ago`;
    const how = departed["isGraceful"] === true ? "after a shutdown" : "without a shutdown";
    const event = departed["isGone"] === true ? `${who}, ${ago} ${how}` : `an earlier run of ${who}, ${ago}`;
    const unserved = `no server serves ${count} of its resources: ${summary(objectsAt(departed, "resources"))}`;
    return `Departed: ${event}; ${count === 0 ? "other servers serve all of its resources" : unserved}.`;
  });
}

function duration(seconds: number): string {
  return seconds < 120 ? `${Math.round(seconds)} s` : `${Math.round(seconds / 60)} min`;
}

function numberAt(parent: JsonObject, key: string): number {
  const value = parent[key];
  return typeof value === "number" ? value : 0;
}

/** The kinds of waits whose reason does not say since when they last. */
const REPORTED: ReadonlySet<string> = new Set(["resource", "object"]);

/** The servers that run controllers, and the leaders, resources, objects and namespaces for which the cluster waits. */
function controllers(answer: JsonObject): string[] {
  const leaders = objectsAt(answer, "controllers").flatMap((one) => {
    const leader = text(one, "leader");
    return leader === "" ? [] : [`${text(one, "lease")}: ${leader} leads since ${text(one, "since")}.`];
  });
  const waits = objectsAt(answer, "waitingFor").map((wait) => {
    const name = text(wait, "name");
    const until = text(wait, "until");
    const what = `${text(wait, "kind")}${name === "" ? "" : ` ${name}`}`;
    const since = REPORTED.has(text(wait, "kind")) ? text(wait, "since") : "";
    const when = `${since === "" ? "" : ` since ${since}`}${until === "" ? "" : ` until ${until}`}`;
    return `Waiting for ${what}${when}: ${text(wait, "because")}.`;
  });
  const held = objectAt(answer, "heldByKubeControllerManager");
  const names = stringsAt(held, "controllers").map((name) => printable(name));
  const others =
    names.length === 0
      ? []
      : [`Held by kube-controller-manager (holder ${text(held, "holder")}): ${names.join(", ")}.`];
  return [...leaders, ...others, ...waits];
}

function text(parent: JsonObject, key: string): string {
  return printable(stringAt(parent, key));
}
