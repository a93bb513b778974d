/** Compares every response with the truth: the resources that running servers serve, and the acknowledged writes. */
import type { DiscoveryGroup } from "../../serving/discovery/groups.ts";
import type { Query } from "../../serving/http/query.ts";
import type { RequestInfo } from "../../serving/http/request-info.ts";
import { objectAt, objectsAt, parseJsonObject, stringAt, type JsonObject } from "../../meta/json.ts";
import type { GuaranteeChecker } from "../simulator/checker.ts";
import type { LedgerEntry, Ledger, LedgerKey } from "./ledger.ts";
import type { WrongResponse } from "./report.ts";
import type { ServerRun } from "./stage.ts";

/** A request of a client, and its response. */
export interface ObservedResponse {
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
  /** Body of the response; "" for a stream. */
  readonly text: string;
  /** The peer that the request was proxied to; undefined if it was served locally. */
  readonly servedBy: string | undefined;
}

export interface Truth {
  readonly ledger: Ledger;
  /** All runs of servers so far. */
  readonly serverRuns: readonly ServerRun[];
  /** The checker that finds a server that serves the resource of a 404. */
  readonly noFalse404: Pick<GuaranteeChecker, "onResponse">;
  /** Whether the resource is that of a CRD, which every server serves. */
  readonly isCustom?: (of: Pick<LedgerKey, "group" | "resource">) => boolean;
}

export type JudgeFinding = Pick<WrongResponse, "kind" | "said" | "right">;

/** Returns everything that is wrong with a response. */
export function judgeResponse(response: ObservedResponse, truth: Truth): JudgeFinding[] {
  if (response.status === 404) return judgeNotFound(response, truth);
  if (response.status === 500) return judgeError(response);
  if (response.status !== 200 || response.method !== "GET") return [];
  if (response.info.verb === "list") return judgeList(response, truth.ledger);
  if (!response.info.isResourceRequest && isDiscoveryRoot(response.info))
    return judgeDiscovery(response, truth.serverRuns);
  return [];
}

/** The store of a rehearsal holds only objects that servers have written, so an undecodable one is of another release. */
function judgeError({ text }: ObservedResponse): JudgeFinding[] {
  const message = stringAt(parseJsonObject(text) ?? {}, "message").slice(0, 300);
  if (!UNDECODABLE.test(message)) return [];
  return [{ kind: "unreadable-encoding", said: `500: ${message}`, right: "another server of the cluster can read it" }];
}

const UNDECODABLE = /no kind .* is registered for version/;

function judgeNotFound(response: ObservedResponse, truth: Truth): JudgeFinding[] {
  const { ledger, noFalse404, serverRuns, isCustom = (): boolean => false } = truth;
  const { info, atMs, status, startedAtMs, auditId, serverId, method, target } = response;
  const { message, unknown } = readNotFound(response.text);
  if (unknown === "object") return isAbsentWrongly(response, ledger) ? [absent(response, message)] : [];
  const { group, version, resource, subresource, name } = info;
  if (info.isResourceRequest && unknown === "resource" && isCustom(info))
    return [{ kind: "resource-called-unknown", said: `404: ${message}`, right: "its CRD is established" }];
  const request = {
    auditId,
    serverId,
    method,
    startedAtMs,
    name,
    target: pathOf(target),
    resource: info.isResourceRequest ? { group, version, resource, subresource } : undefined,
  };
  const problems = noFalse404.onResponse?.({ request, atMs, status, unknown, message }) ?? [];
  const right = servingServerText(response, serverRuns);
  return problems.slice(0, 1).map(() => ({ kind: "resource-called-unknown", said: `404: ${message}`, right }));
}

/** Names a server that serves the resource, or the last one that served it. */
function servingServerText({ info, startedAtMs }: ObservedResponse, serverRuns: readonly ServerRun[]): string {
  const { isResourceRequest, group, version } = info;
  const serves = ({ served }: ServerRun): boolean =>
    isResourceRequest ? served.has(info) : served.hasGroupVersion(group, version) || version === "";
  const able = serverRuns.filter((run) => (run.readyAtMs ?? Infinity) <= startedAtMs && serves(run));
  const holder = able.findLast(({ endedAtMs }) => endedAtMs === undefined) ?? able.at(-1);
  if (holder === undefined) return "a server of the cluster serves it";
  const who = `${holder.serverId} (${holder.release})`;
  return holder.endedAtMs === undefined ? `${who} serves it` : `${who} served it until recently`;
}

function absent({ info }: ObservedResponse, message: string): JudgeFinding {
  const name = ledgerKeyText(info);
  return {
    kind: "object-called-absent",
    said: `404: ${message}`,
    right: `${name} was created, and no client deleted it`,
  };
}

function isAbsentWrongly({ info, startedAtMs, method }: ObservedResponse, ledger: Ledger): boolean {
  if (method === "POST" || info.subresource !== "") return false;
  const entry = ledger.find(info);
  return entry?.state === "there" && entry.acknowledgedAtMs <= startedAtMs;
}

/**
 * Whether a 404 is about an object or about a resource: about an object if its details name one, and about neither if
 * the response was truncated.
 */
export function readNotFound(text: string): {
  readonly unknown: "object" | "resource" | undefined;
  readonly message: string;
} {
  const status = parseJsonObject(text);
  if (status === undefined)
    return { unknown: text === PAGE_NOT_FOUND ? "resource" : undefined, message: text.trim().slice(0, 200) };
  const isObject = stringAt(objectAt(status, "details"), "name") !== "";
  return { unknown: isObject ? "object" : "resource", message: stringAt(status, "message").slice(0, 300) };
}

const PAGE_NOT_FOUND = "404 page not found\n";

function judgeList({ info, query, text, startedAtMs }: ObservedResponse, ledger: Ledger): JudgeFinding[] {
  const isPart = ["labelSelector", "fieldSelector", "continue"].some((name) => (query.get(name) ?? "") !== "");
  const list = parseJsonObject(text);
  if (isPart || list === undefined || stringAt(objectAt(list, "metadata"), "continue") !== "") return [];
  const shown = shownNames(list);
  const revision = Number(stringAt(objectAt(list, "metadata"), "resourceVersion"));
  const isFresh = (query.get("resourceVersion") ?? "") === "";
  const missing = ledger
    .present(info)
    .filter((entry) => info.namespace === "" || entry.namespace === info.namespace)
    .filter((entry) => entry.acknowledgedAtMs <= startedAtMs && (isFresh || revision >= entry.revision))
    .filter((entry) => !shown.has(`${entry.namespace}/${entry.name}`));
  return missing.slice(0, 1).map((entry) => ({
    kind: "missing-from-list",
    said: `200: ${shown.size} objects at revision ${revision}, without ${ledgerKeyText(entry)}`,
    right: `${ledgerKeyText(entry)} was created at revision ${entry.revision}, and no client deleted it${more(missing)}`,
  }));
}

function more(missing: readonly LedgerEntry[]): string {
  return missing.length > 1 ? ` (nor ${missing.length - 1} others)` : "";
}

function shownNames(list: JsonObject): Set<string> {
  return new Set(
    objectsAt(list, "items").map((item) => {
      const metadata = objectAt(item, "metadata");
      return `${stringAt(metadata, "namespace")}/${stringAt(metadata, "name")}`;
    }),
  );
}

/**
 * Maximum time by which merged discovery may lag behind, because peers read the discovery document of a server only
 * after it has started.
 */
const LISTED_WITHIN_MS = 5_000;

/**
 * Checks only the resources of servers that were ready some seconds before the request and healthy during it, and only
 * responses of such servers.
 */
function judgeDiscovery(response: ObservedResponse, serverRuns: readonly ServerRun[]): JudgeFinding[] {
  const well = serverRuns.filter(
    ({ readyAtMs = Infinity, endedAtMs, troubledUntilMs }) =>
      readyAtMs + LISTED_WITHIN_MS <= response.startedAtMs &&
      endedAtMs === undefined &&
      troubledUntilMs < response.startedAtMs,
  );
  const document = parseJsonObject(response.text);
  if (document?.["kind"] !== "APIGroupDiscoveryList" || !well.some(({ serverId }) => serverId === response.serverId))
    return [];
  const isCore = response.info.apiPrefix === "api";
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

/** The resources, as "apps/v1/deployments", that are missing in an aggregated discovery document. */
export function missingFromDiscovery(document: JsonObject, wanted: readonly DiscoveryGroup[]): string[] {
  const listed = new Set(
    objectsAt(document, "items").flatMap((group) =>
      objectsAt(group, "versions").flatMap((version) =>
        objectsAt(version, "resources").map((resource) =>
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

export function ledgerKeyText({
  resource,
  namespace,
  name,
}: Pick<LedgerKey, "resource" | "namespace" | "name">): string {
  return [resource, namespace, name].filter((part) => part !== "").join("/");
}

function pathOf(target: string): string {
  const queryAt = target.indexOf("?");
  return queryAt < 0 ? target : target.slice(0, queryAt);
}
