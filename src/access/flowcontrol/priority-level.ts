/** Parses a PriorityLevelConfiguration. */
import { isJsonObject, objectAt, stringAt, type JsonObject } from "../../meta/json.ts";
import { isDealable } from "./shuffle-sharding.ts";

export interface PriorityLevel {
  readonly name: string;
  readonly uid: string;
  /** True if the requests of the level neither wait nor are rejected. */
  readonly isExempt: boolean;
  readonly shares: number;
  readonly lendablePercent: number;
  /** Undefined if borrowing is not limited. */
  readonly borrowingLimitPercent: number | undefined;
  /** Undefined if the level has no queues: a request that finds no free seat is then rejected. */
  readonly queuing: Queuing | undefined;
}

export interface Queuing {
  readonly queues: number;
  /** The number of queues that are assigned to a flow; each request waits in the one with the least work. */
  readonly handSize: number;
  readonly queueLengthLimit: number;
}

export const EXEMPT = "exempt";
export const CATCH_ALL = "catch-all";

/** Undefined if the object is invalid; the caller then ignores it. */
export function readPriorityLevel(object: JsonObject): PriorityLevel | undefined {
  const metadata = objectAt(object, "metadata");
  const [name, uid] = [stringAt(metadata, "name"), stringAt(metadata, "uid")];
  const spec = objectAt(object, "spec");
  const isExempt = spec["type"] === "Exempt";
  // As kube-apiserver: only the level named exempt is exempt.
  if (isExempt !== (name === EXEMPT)) return undefined;
  if (isExempt) return { name, uid, isExempt, queuing: undefined, ...seatsOf(objectAt(spec, "exempt"), 0) };
  const { limited } = spec;
  if (spec["type"] !== "Limited" || !isJsonObject(limited)) return undefined;
  const response = objectAt(limited, "limitResponse");
  const level = { name, uid, isExempt, ...seatsOf(limited, DEFAULT_SHARES) };
  if (response["type"] === "Reject") return { ...level, queuing: undefined };
  const queuing = readQueuing(objectAt(response, "queuing"));
  return response["type"] === "Queue" && queuing !== undefined ? { ...level, queuing } : undefined;
}

const DEFAULT_SHARES = 30;

function seatsOf(
  limits: JsonObject,
  defaultShares: number,
): Pick<PriorityLevel, "shares" | "lendablePercent" | "borrowingLimitPercent"> {
  return {
    // v1beta2 calls this field assuredConcurrencyShares.
    shares: countAt(limits, "nominalConcurrencyShares") ?? countAt(limits, "assuredConcurrencyShares") ?? defaultShares,
    lendablePercent: Math.min(countAt(limits, "lendablePercent") ?? 0, 100),
    borrowingLimitPercent: countAt(limits, "borrowingLimitPercent"),
  };
}

const DEFAULT_QUEUING: Queuing = { queues: 64, handSize: 8, queueLengthLimit: 50 };

function readQueuing(queuing: JsonObject): Queuing | undefined {
  const { queues, handSize, queueLengthLimit } = DEFAULT_QUEUING;
  const read = {
    queues: countAt(queuing, "queues") ?? queues,
    handSize: countAt(queuing, "handSize") ?? handSize,
    queueLengthLimit: Math.max(countAt(queuing, "queueLengthLimit") ?? queueLengthLimit, 1),
  };
  return isDealable(read) ? read : undefined;
}

function countAt(parent: JsonObject, key: string): number | undefined {
  const value = parent[key];
  return typeof value === "number" && Number.isSafeInteger(value) && value >= 0 ? value : undefined;
}

/** The priority levels that exist even if the store does not contain them. */
export const MANDATORY_LEVELS: readonly PriorityLevel[] = [
  {
    name: EXEMPT,
    uid: "",
    isExempt: true,
    shares: 0,
    lendablePercent: 0,
    borrowingLimitPercent: undefined,
    queuing: undefined,
  },
  {
    name: CATCH_ALL,
    uid: "",
    isExempt: false,
    shares: 5,
    lendablePercent: 0,
    borrowingLimitPercent: undefined,
    queuing: undefined,
  },
];
