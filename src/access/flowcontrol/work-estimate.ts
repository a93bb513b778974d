/** Estimates the number of seats of a request: one, except for lists and for watches that send initial events. Pure. */
import type { RequestInfo } from "../../serving/http/request-info.ts";
import type { Query } from "../../serving/http/query.ts";

/** Statistics of all stored objects of a resource. */
export interface ObjectStats {
  readonly count: number;
  readonly averageBytes: number;
}

const SEATS_MAX = 100;
const BYTES_PER_SEAT = 100_000;
/** Maximum memory that a list from the watch cache uses at once, regardless of its length. */
const LIST_BYTES_MAX = 1_000_000;

interface EstimatedRequest {
  readonly info: RequestInfo;
  readonly query: Query;
}

/** `statsOf` returns undefined if the resource is not stored in this cluster. */
// DIFFERS: kube-apiserver also keeps the seats of a write for a while, depending on the number of watchers.
export function estimatedSeats(
  { info, query }: EstimatedRequest,
  seatsMax: number,
  statsOf: (info: RequestInfo) => ObjectStats | undefined,
): number {
  if (info.verb !== "list" && info.verb !== "watch") return 1;
  if (info.verb === "watch" && !sendsInitialEvents(query)) return 1;
  const stats = statsOf(info);
  if (stats === undefined) return 1;
  const limit = asCount(query.get("limit"));
  if (limit === undefined) return seatsMax;
  const listed = limit > 0 ? Math.min(limit, stats.count) : stats.count;
  const objects = isOfOne(info, query) ? 1 : listed;
  const bytes = Math.min(objects * stats.averageBytes, LIST_BYTES_MAX);
  return Math.max(1, Math.min(Math.ceil(bytes / BYTES_PER_SEAT), seatsMax));
}

function sendsInitialEvents(query: Query): boolean {
  const resourceVersion = query.get("resourceVersion") ?? "";
  const asked = query.get("sendInitialEvents") ?? "false";
  return resourceVersion === "" || resourceVersion === "0" || (asked !== "0" && asked.toLowerCase() !== "false");
}

function asCount(text = "0"): number | undefined {
  const count = text === "" ? 0 : Number(text);
  return Number.isSafeInteger(count) ? count : undefined;
}

function isOfOne({ name }: RequestInfo, query: Query): boolean {
  if (name !== "") return true;
  const terms = query.get("fieldSelector")?.split(",", 10) ?? [];
  return terms.some((term) => term.startsWith("metadata.name="));
}

/**
 * The maximum number of seats of one request. In a level with queues, it is at most 15 % of the seats of the level, and
 * low enough that one request from each queue of a hand can be executed at once.
 */
export function seatsMaxOf(nominal: number, handSize: number | undefined): number {
  if (handSize === undefined) return SEATS_MAX;
  return Math.max(1, Math.min(Math.ceil(nominal * 0.15), Math.floor(nominal / handSize), SEATS_MAX));
}
