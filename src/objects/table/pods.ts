/** Rows of pods and pod templates. */
import type { JsonObject } from "../../meta/json.ts";
import {
  ageOf,
  conditionOf,
  containerCells,
  flagAt,
  integerAt,
  isConditionTrue,
  isDeleting,
  isSetAt,
  itemsAt,
  labelsText,
  textAt,
  timeAt,
  valueAt,
  type Cell,
  type RowCondition,
  type RowContext,
  type RowPrinters,
} from "./row.ts";
import type { ReleaseGates } from "../release-gates.ts";

export function podRowConditions(pod: JsonObject): readonly RowCondition[] {
  const reason = textAt(pod, "status", "phase");
  if (reason === "Succeeded") {
    return [{ type: "Completed", status: "True", reason, message: "The pod has completed successfully." }];
  }
  if (reason === "Failed") return [{ type: "Completed", status: "True", reason, message: "The pod failed." }];
  return [];
}

export const POD_PRINTERS: RowPrinters = {
  "/Pod": podCells,
  "/PodTemplate": (object) => ({
    ...containerCells(valueAt(object, "template", "spec")),
    "Pod Labels": labelsText(valueAt(object, "template", "metadata", "labels")),
  }),
};

function podCells(pod: JsonObject, context: RowContext): Record<string, Cell> {
  const init = readInitContainers(pod);
  const isInitializing = init.reason !== undefined;
  const initialReason = init.reason ?? phaseReason(pod);
  const run =
    !isInitializing || isConditionTrue(pod, "Initialized")
      ? readContainers(pod, { initialReason, initial: init.restartable, gates: context.gates })
      : { reason: initialReason, ready: 0, restarts: init.all };
  return {
    Ready: `${init.ready + run.ready}/${wantedContainers(pod)}`,
    Status: deletionReason(pod, context) ?? run.reason,
    Restarts: restartsText(run.restarts, context),
    IP: podAddress(pod) || "<none>",
    Node: textAt(pod, "spec", "nodeName") || "<none>",
    "Nominated Node": textAt(pod, "status", "nominatedNodeName") || "<none>",
    "Readiness Gates": readinessGates(pod),
  };
}

interface Restarts {
  readonly count: number;
  readonly last: number | undefined;
}

const NO_RESTARTS: Restarts = { count: 0, last: undefined };

function addRestarts({ count, last }: Restarts, status: JsonObject): Restarts {
  const finished = timeAt(status, "lastState", "terminated", "finishedAt");
  const isLater = finished !== undefined && (last === undefined || last < finished);
  return { count: count + integerAt(status, "restartCount"), last: isLater ? finished : last };
}

function restartsText({ count, last }: Restarts, context: RowContext): string {
  return count !== 0 && last !== undefined ? `${count} (${ageOf(last, context)} ago)` : `${count}`;
}

function phaseReason(pod: JsonObject): string {
  const isGated = itemsAt(pod, "status", "conditions").some(
    ({ type, reason }) => type === "PodScheduled" && reason === "SchedulingGated",
  );
  if (isGated) return "SchedulingGated";
  return textAt(pod, "status", "reason") || textAt(pod, "status", "phase");
}

function wantedContainers(pod: JsonObject): number {
  return (
    itemsAt(pod, "spec", "containers").length + itemsAt(pod, "spec", "initContainers").filter(isRestartable).length
  );
}

function isRestartable(container: JsonObject): boolean {
  return container["restartPolicy"] === "Always";
}

interface InitProgress {
  /** The status text while an init container is unfinished; undefined otherwise. */
  readonly reason: string | undefined;
  readonly ready: number;
  readonly all: Restarts;
  /** Restarts of sidecar containers. */
  readonly restartable: Restarts;
}

function readInitContainers(pod: JsonObject): InitProgress {
  const containers = itemsAt(pod, "spec", "initContainers");
  const restartableNames = new Set(containers.filter(isRestartable).map((container) => textAt(container, "name")));
  let all = NO_RESTARTS;
  let restartable = NO_RESTARTS;
  let ready = 0;
  for (const [index, status] of itemsAt(pod, "status", "initContainerStatuses").entries()) {
    const runsBeside = restartableNames.has(textAt(status, "name"));
    all = addRestarts(all, status);
    if (runsBeside) restartable = addRestarts(restartable, status);
    if (isSetAt(status, "state", "terminated") && integerAt(status, "state", "terminated", "exitCode") === 0) continue;
    if (runsBeside && flagAt(status, "started")) {
      if (flagAt(status, "ready")) ready++;
      continue;
    }
    return { reason: `Init:${unfinishedReason(status) ?? `${index}/${containers.length}`}`, ready, all, restartable };
  }
  return { reason: undefined, ready, all, restartable };
}

function unfinishedReason(status: JsonObject): string | undefined {
  if (isSetAt(status, "state", "terminated")) return terminationReason(status);
  const waiting = textAt(status, "state", "waiting", "reason");
  return waiting === "" || waiting === "PodInitializing" ? undefined : waiting;
}

function terminationReason(status: JsonObject): string {
  const terminated = valueAt(status, "state", "terminated");
  const signal = integerAt(terminated, "signal");
  return (
    textAt(terminated, "reason") ||
    (signal === 0 ? `ExitCode:${integerAt(terminated, "exitCode")}` : `Signal:${signal}`)
  );
}

interface RunProgress {
  readonly reason: string;
  readonly ready: number;
  readonly restarts: Restarts;
}

function readContainers(
  pod: JsonObject,
  { initialReason, initial, gates }: { initialReason: string; initial: Restarts; gates: ReleaseGates },
): RunProgress {
  let reason = initialReason;
  let failure = "";
  let restarts = initial;
  let ready = 0;
  for (const status of itemsAt(pod, "status", "containerStatuses").toReversed()) {
    restarts = addRestarts(restarts, status);
    const waiting = textAt(status, "state", "waiting", "reason");
    if (waiting !== "") reason = waiting;
    else if (isSetAt(status, "state", "terminated")) {
      reason = terminationReason(status);
      if (integerAt(status, "state", "terminated", "exitCode") !== 0) failure = reason;
    } else if (flagAt(status, "ready") && isSetAt(status, "state", "running")) ready++;
  }
  if (reason === "Completed") {
    if (ready > 0 && hasReadyCondition(pod)) reason = "Running";
    else if (failure !== "" && gates.isOn("PodTableFailedContainer")) reason = failure;
    else if (ready > 0) reason = "NotReady";
  }
  return { reason, ready, restarts };
}

function hasReadyCondition(pod: JsonObject): boolean {
  return itemsAt(pod, "status", "conditions").some(({ type, status }) => type === "Ready" && status === "True");
}

function deletionReason(pod: JsonObject, { gates }: RowContext): string | undefined {
  if (!isDeleting(pod)) return undefined;
  if (valueAt(pod, "status", "reason") === "NodeLost") return "Unknown";
  const phase = textAt(pod, "status", "phase");
  const isOver = phase === "Succeeded" || phase === "Failed";
  return isOver && gates.isOn("PodTableFinishedOnDeletion") ? undefined : "Terminating";
}

/** The address of the pod: podIP, which older clients write alone; if it is absent, the first of podIPs. */
function podAddress(pod: JsonObject): string {
  return textAt(pod, "status", "podIP") || textAt(itemsAt(pod, "status", "podIPs")[0], "ip");
}

function readinessGates(pod: JsonObject): string {
  const gates = itemsAt(pod, "spec", "readinessGates");
  if (gates.length === 0) return "<none>";
  const passed = gates.filter((gate) => conditionOf(pod, textAt(gate, "conditionType"))?.["status"] === "True");
  return `${passed.length}/${gates.length}`;
}
