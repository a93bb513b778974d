/** Holds every answer against what is true: what living servers serve, and what was acknowledged. */
import type { DiscoveryGroup } from "../../serving/discovery/groups.ts";
import type { Query } from "../../serving/http/query.ts";
import type { RequestInfo } from "../../serving/http/request-info.ts";
import { isJsonObject, objectAt, stringAt, type JsonObject } from "../../meta/json.ts";
import type { Checker } from "../simulator/checker.ts";
import type { Entry, Ledger, Place } from "./ledger.ts";
import type { WrongAnswer } from "./report.ts";
import type { Life } from "./stage.ts";

/** A request of a client, and what it was told. */
export interface Answered {
  readonly client: string;
  readonly serverId: string;
  readonly auditId: string;
  readonly method: string;
  /** Path and query. */
  readonly target: string;
  readonly info: RequestInfo;
  readonly query: Query;
  readonly startedAtMs: number;
  readonly atMs: number;
  readonly status: number;
  /** Of a stream: "". */
  readonly text: string;
  /** Whoever the request was handed on to; undefined: nobody. */
  readonly servedBy: string | undefined;
}

export interface Truth {
  readonly ledger: Ledger;
  /** All there were so far. */
  readonly lives: readonly Life[];
  /** Finds whoever serves what was called unknown. */
  readonly noFalse404: Pick<Checker, "onAnswer">;
}

export type Finding = Pick<WrongAnswer, "kind" | "said" | "right">;

/** Everything that is wrong about an answer. */
export function judgeAnswer(answer: Answered, truth: Truth): Finding[] {
  if (answer.status === 404) return judgeNotFound(answer, truth);
  if (answer.status !== 200 || answer.method !== "GET") return [];
  if (answer.info.verb === "list") return judgeList(answer, truth.ledger);
  if (!answer.info.isResourceRequest && isDiscoveryRoot(answer.info)) return judgeDiscovery(answer, truth.lives);
  return [];
}

function judgeNotFound(answer: Answered, { ledger, noFalse404, lives }: Truth): Finding[] {
  const { info, atMs, status, startedAtMs, auditId, serverId, method, target } = answer;
  const { message, unknown } = readNotFound(answer.text);
  if (unknown === "object") return isAbsentWrongly(answer, ledger) ? [absent(answer, message)] : [];
  const { group, version, resource, subresource, name } = info;
  const question = {
    ...{ auditId, serverId, method, startedAtMs, name },
    target: pathOf(target),
    resource: info.isResourceRequest ? { group, version, resource, subresource } : undefined,
  };
  const problems = noFalse404.onAnswer?.({ question, atMs, status, unknown, message }) ?? [];
  const right = whoServes(answer, lives);
  return problems.slice(0, 1).map(() => ({ kind: "resource-called-unknown", said: `404: ${message}`, right }));
}

/** The last that did; who is still there comes first. */
function whoServes({ info, startedAtMs }: Answered, lives: readonly Life[]): string {
  const { isResourceRequest, group, version } = info;
  const serves = ({ served }: Life): boolean =>
    isResourceRequest ? served.has(info) : served.hasGroupVersion(group, version) || version === "";
  const able = lives.filter((life) => (life.readyAtMs ?? Infinity) <= startedAtMs && serves(life));
  const holder = able.findLast(({ endedAtMs }) => endedAtMs === undefined) ?? able.at(-1);
  if (holder === undefined) return "somebody serves it";
  const who = `${holder.serverId} (${holder.release})`;
  return holder.endedAtMs === undefined ? `${who} serves it` : `${who} served it until a short while ago`;
}

function absent({ info }: Answered, message: string): Finding {
  const name = placeText(info);
  return {
    kind: "object-called-absent",
    said: `404: ${message}`,
    right: `${name} was created, and nobody asked to delete it`,
  };
}

function isAbsentWrongly({ info, startedAtMs, method }: Answered, ledger: Ledger): boolean {
  if (method === "POST" || info.subresource !== "") return false;
  const entry = ledger.find(info);
  return entry?.state === "there" && entry.acknowledgedAtMs <= startedAtMs;
}

/** A 404 is about an object if it names one, and about nothing if it broke off on its way. */
export function readNotFound(text: string): {
  readonly unknown: "object" | "resource" | undefined;
  readonly message: string;
} {
  const status = parsed(text);
  if (status === undefined)
    return { unknown: text === PAGE_NOT_FOUND ? "resource" : undefined, message: text.trim().slice(0, 200) };
  const isObject = stringAt(objectAt(status, "details"), "name") !== "";
  return { unknown: isObject ? "object" : "resource", message: stringAt(status, "message").slice(0, 300) };
}

const PAGE_NOT_FOUND = "404 page not found\n";

function judgeList({ info, query, text, startedAtMs }: Answered, ledger: Ledger): Finding[] {
  const isPart = ["labelSelector", "fieldSelector", "continue"].some((name) => (query.get(name) ?? "") !== "");
  const list = parsed(text);
  if (isPart || list === undefined || stringAt(objectAt(list, "metadata"), "continue") !== "") return [];
  const shown = shownNames(list);
  const revision = Number(stringAt(objectAt(list, "metadata"), "resourceVersion"));
  const isFresh = (query.get("resourceVersion") ?? "") === "";
  const missing = ledger
    .there(info)
    .filter((entry) => info.namespace === "" || entry.namespace === info.namespace)
    .filter((entry) => entry.acknowledgedAtMs <= startedAtMs && (isFresh || revision >= entry.revision))
    .filter((entry) => !shown.has(`${entry.namespace}/${entry.name}`));
  return missing.slice(0, 1).map((entry) => ({
    kind: "missing-from-list",
    said: `200: ${shown.size} objects at revision ${revision}, without ${placeText(entry)}`,
    right: `${placeText(entry)} was created at revision ${entry.revision}, and nobody asked to delete it${more(missing)}`,
  }));
}

function more(missing: readonly Entry[]): string {
  return missing.length > 1 ? ` (nor ${missing.length - 1} others)` : "";
}

function shownNames(list: JsonObject): Set<string> {
  const items = Array.isArray(list["items"]) ? list["items"].filter(isJsonObject) : [];
  return new Set(
    items.map((item) => {
      const metadata = objectAt(item, "metadata");
      return `${stringAt(metadata, "namespace")}/${stringAt(metadata, "name")}`;
    }),
  );
}

/** Others ask a server what it serves when it is there, so a document may be this much behind. */
const LISTED_WITHIN_MS = 5_000;

/** Held only to servers that are well all the time, and only if whoever answers is. */
function judgeDiscovery(answer: Answered, lives: readonly Life[]): Finding[] {
  const well = lives.filter(
    ({ readyAtMs = Infinity, endedAtMs, troubledUntilMs }) =>
      readyAtMs + LISTED_WITHIN_MS <= answer.startedAtMs &&
      endedAtMs === undefined &&
      troubledUntilMs < answer.startedAtMs,
  );
  const document = parsed(answer.text);
  if (document?.["kind"] !== "APIGroupDiscoveryList" || !well.some(({ serverId }) => serverId === answer.serverId))
    return [];
  const isCore = answer.info.apiPrefix === "api";
  for (const { groups, serverId, release } of well) {
    const wanted = groups.filter(({ name }) => (name === "") === isCore);
    const missing = missingFromDiscovery(document, wanted);
    if (missing.length === 0) continue;
    const others = missing.length > 1 ? ` (nor ${missing.length - 1} others)` : "";
    const said = `200: a document without ${missing[0]}${others}`;
    return [{ kind: "missing-from-discovery", said, right: `${serverId} (${release}) serves ${missing[0]}` }];
  }
  return [];
}

/** The resources, as "apps/v1/deployments", that an aggregated document should name and does not. */
export function missingFromDiscovery(document: JsonObject, wanted: readonly DiscoveryGroup[]): string[] {
  const items = (of: JsonObject, member: string): JsonObject[] => {
    const value = of[member];
    return Array.isArray(value) ? value.filter(isJsonObject) : [];
  };
  const listed = new Set(
    items(document, "items").flatMap((group) =>
      items(group, "versions").flatMap((version) =>
        items(version, "resources").map((resource) =>
          nameOf(
            stringAt(objectAt(group, "metadata"), "name"),
            stringAt(version, "version"),
            stringAt(resource, "resource"),
          ),
        ),
      ),
    ),
  );
  return wanted
    .flatMap(({ name, versions }) =>
      versions.flatMap(({ version, resources }) => resources.map(({ resource }) => nameOf(name, version, resource))),
    )
    .filter((name) => !listed.has(name));
}

function nameOf(...parts: readonly string[]): string {
  return parts.filter((part) => part !== "").join("/");
}

function isDiscoveryRoot({ segments }: RequestInfo): boolean {
  return segments.length === 1 && (segments[0] === "api" || segments[0] === "apis");
}

export function placeText({ resource, namespace, name }: Pick<Place, "resource" | "namespace" | "name">): string {
  return [resource, namespace, name].filter((part) => part !== "").join("/");
}

function pathOf(target: string): string {
  const question = target.indexOf("?");
  return question < 0 ? target : target.slice(0, question);
}

function parsed(text: string): JsonObject | undefined {
  try {
    const value: unknown = JSON.parse(text);
    return isJsonObject(value) ? value : undefined;
  } catch {
    return undefined;
  }
}
