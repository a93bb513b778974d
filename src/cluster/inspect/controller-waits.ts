/**
 * Reports which server runs the controllers of the cluster, and which leader, resources, objects and namespaces the
 * cluster waits for, with the reasons. Without it, an operator sees only that a namespace stays Terminating. Pure.
 */
import { objectAt, objectsAt, stringAt, type JsonObject } from "../../meta/json.ts";
import { timestampAt } from "../../meta/timestamp.ts";
import { SETTLE_MS } from "../controllers/namespace/namespace-controller.ts";
import type { ControllerStatus, HeldControllers, Waiting } from "../peers/cluster-status.ts";
import type { LeaderLease } from "./leader-leases.ts";

interface ControllerWaitsInput {
  readonly leases: readonly LeaderLease[];
  readonly namespaces: Iterable<{ readonly seenAtMs: number; readonly object: JsonObject }>;
  readonly heldElsewhere?: HeldControllers | undefined;
  /** The time of the report by the monotonic clock, and by the wall clock. */
  readonly nowMs: number;
  readonly now: number;
}

/** A leader renews its lease every second. After this time without a renewal it may have crashed. */
const OVERDUE_MS = 3_000;
/** Servers take an expired lease within this time. */
const TAKEOVER_MS = 1_500;
const NAMESPACES_MAX = 20;
const CONDITIONS_MAX = 5;
const MESSAGE_LENGTH_MAX = 300;

export function controllerWaits(input: ControllerWaitsInput): {
  readonly controllers: readonly ControllerStatus[];
  readonly waitingFor: readonly Waiting[];
  readonly heldByKubeControllerManager: HeldControllers | null;
} {
  const { leases, nowMs, heldElsewhere } = input;
  const leaders = leases.flatMap((lease) => leaderWait(lease, input) ?? []);
  return {
    controllers: leases.map(({ name: lease, leader, acquireTime, changedAtMs }) => ({
      lease,
      ...(leader === "" ? {} : { leader, since: acquireTime }),
      renewedSecondsAgo: Math.max(0, Math.round((nowMs - changedAtMs) / 100) / 10),
    })),
    heldByKubeControllerManager: heldElsewhere ?? null,
    waitingFor: [...leaders, ...leases.flatMap(reportedWaits), ...namespaceWaits(input, leaders.length > 0)],
  };
}

function leaderWait(
  { name, leader, durationMs, changedAtMs }: LeaderLease,
  at: ControllerWaitsInput,
): Waiting | undefined {
  const ageMs = at.nowMs - changedAtMs;
  const since = timestampAt(at.now - ageMs);
  if (leader === "")
    return {
      kind: "leader",
      name,
      since,
      because: "the last leader has released the lease, and no server has taken it",
    };
  if (ageMs < OVERDUE_MS) return undefined;
  return {
    kind: "leader",
    name,
    since,
    until: timestampAt(at.now + Math.max(0, durationMs - ageMs) + TAKEOVER_MS),
    because: `${leader} has not renewed the lease for ${Math.floor(ageMs / 1000)} s; after ${durationMs / 1000} s another server takes it`,
  };
}

/** The waits of the controllers of a leader, which it has published with the last renewal of its lease. */
function reportedWaits({ leader, reported: { waits, hidden } }: LeaderLease): Waiting[] {
  if (leader === "") return [];
  if (hidden === 0) return [...waits];
  return [
    ...waits,
    { kind: "resource", name: "", because: `the controllers of ${leader} report ${hidden} more waits` },
  ];
}

function namespaceWaits({ namespaces, nowMs, now }: ControllerWaitsInput, hasNoLeader: boolean): Waiting[] {
  const waits: Waiting[] = [];
  let hidden = 0;
  for (const { seenAtMs, object } of namespaces) {
    if (waits.length >= NAMESPACES_MAX) {
      hidden++;
      continue;
    }
    const metadata = objectAt(object, "metadata");
    const settledAt = now + SETTLE_MS - (nowMs - seenAtMs);
    const obstacles = obstaclesOf(object);
    const isSettling = obstacles === "" && settledAt > now;
    waits.push({
      kind: "namespace",
      name: stringAt(metadata, "name"),
      since: stringAt(metadata, "deletionTimestamp"),
      ...(isSettling ? { until: timestampAt(settledAt) } : {}),
      because: obstacles || reasonWithoutObstacle({ isSettling, hasNoLeader }),
    });
  }
  if (hidden > 0) waits.push({ kind: "namespace", name: "", because: `${hidden} more namespaces are being deleted` });
  return waits;
}

function reasonWithoutObstacle({ isSettling, hasNoLeader }: { isSettling: boolean; hasNoLeader: boolean }): string {
  if (isSettling) return `a namespace is finalized ${SETTLE_MS / 1000} s after its deletion at the earliest`;
  if (hasNoLeader) return "no server runs the controllers now";
  return "the namespace controller has not reported an obstacle";
}

/** The conditions that report an obstacle. */
function obstaclesOf(object: JsonObject): string {
  return objectsAt(objectAt(object, "status"), "conditions")
    .filter((condition) => condition["status"] === "True")
    .slice(0, CONDITIONS_MAX)
    .map((condition) => shortened(`${stringAt(condition, "type")}: ${stringAt(condition, "message")}`))
    .join("; ");
}

/** Omits the middle of a long text. The end of a message names the server and the reason. */
function shortened(text: string): string {
  const half = MESSAGE_LENGTH_MAX / 2;
  return text.length <= MESSAGE_LENGTH_MAX ? text : `${text.slice(0, half)} … ${text.slice(-half)}`;
}
