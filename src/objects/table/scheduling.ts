/** Rows of priority classes, pod groups, the kinds of dynamic resource allocation, and evictions. */
import type { JsonObject } from "../../meta/json.ts";
import {
  ageOf,
  conditionOf,
  integerAt,
  isConditionTrue,
  isDeleting,
  isSetAt,
  itemsAt,
  joinFirst,
  textAt,
  timeAt,
  valueAt,
  type Cell,
  type RowContext,
  type RowPrinter,
  type RowPrinters,
} from "./row.ts";

const generatedParameters: RowPrinter = (object) => ({
  GeneratedFrom: generatedFrom(valueAt(object, "generatedFrom")),
});

export const SCHEDULING_PRINTERS: RowPrinters = {
  "scheduling.k8s.io/PriorityClass": (object) => ({ PreemptionPolicy: textAt(object, "preemptionPolicy") }),
  "scheduling.k8s.io/PodGroup": (object) => ({ ...groupCells(object), Status: podGroupStatus(object) }),
  "scheduling.k8s.io/CompositePodGroup": (object) => groupCells(object),
  "resource.k8s.io/ResourceClaim": (object, context) => ({
    ResourceClassName: textAt(object, "spec", "resourceClassName"),
    AllocationMode: textAt(object, "spec", "allocationMode"),
    State: claimState(object, context),
  }),
  "resource.k8s.io/ResourceClaimTemplate": (object) => ({
    ResourceClassName: textAt(object, "spec", "spec", "resourceClassName"),
    AllocationMode: textAt(object, "spec", "spec", "allocationMode"),
  }),
  // v1alpha2 has these fields at the top level.
  "resource.k8s.io/ResourceSlice": (object) => ({
    Node: textAt(object, "spec", "nodeName") || textAt(object, "nodeName"),
    Driver: textAt(object, "spec", "driver") || textAt(object, "driverName"),
  }),
  "resource.k8s.io/ResourceClass": (object) => ({ DriverName: textAt(object, "driverName") }),
  "resource.k8s.io/ResourceClaimParameters": generatedParameters,
  "resource.k8s.io/ResourceClassParameters": generatedParameters,
  "resource.k8s.io/PodSchedulingContext": (object) => ({ SelectedNode: textAt(object, "spec", "selectedNode") }),
  "resource.k8s.io/DeviceTaintRule": (object, context) => ({
    TimeAdded: isSetAt(object, "spec", "taint", "timeAdded")
      ? ageOf(timeAt(object, "spec", "taint", "timeAdded"), context)
      : "",
  }),
  "resource.k8s.io/ResourcePoolStatusRequest": poolStatusCells,
  "lifecycle.k8s.io/EvictionRequest": (object) => ({
    ...evictionTarget(object),
    Requester: textAt(object, "spec", "requester"),
    Intent: textAt(object, "spec", "intent"),
  }),
  "lifecycle.k8s.io/Eviction": (object, context) => ({
    ...evictionTarget(object),
    ...responderCells(object, context),
    Requesters: requestersText(object),
  }),
};

function groupCells(group: JsonObject): Record<string, Cell> {
  const reference = valueAt(group, "spec", "workloadRef") ?? valueAt(group, "spec", "podGroupTemplateRef", "workload");
  return {
    Policy: isSetAt(group, "spec", "schedulingPolicy", "gang") ? "Gang" : "Basic",
    Workload: isSetAt(reference) ? textAt(reference, "workloadName") : "<none>",
  };
}

/** Release 1.37 renamed the condition. */
function podGroupStatus(group: JsonObject): string {
  const conditions = itemsAt(group, "status", "conditions");
  const disruption = conditions.findLast(({ type }) => type === "DisruptionTarget");
  if (disruption !== undefined) return textAt(disruption, "reason");
  const scheduled = conditions.findLast(
    ({ type }) => type === "PodGroupInitiallyScheduled" || type === "PodGroupScheduled",
  );
  if (scheduled === undefined) return "Pending";
  return scheduled["status"] === "True" ? "Scheduled" : "Unschedulable";
}

function claimState(claim: JsonObject, { gates }: RowContext): string {
  const isLeaving = isDeleting(claim);
  if (!isSetAt(claim, "status", "allocation")) return isLeaving ? "deleted" : "pending";
  const states = isLeaving ? ["deleted", "allocated"] : ["allocated"];
  if (itemsAt(claim, "status", "reservedFor").length > 0) states.push("reserved");
  else if (
    gates.isOn("ResourceClaimTableDeallocating") &&
    (isLeaving || valueAt(claim, "status", "deallocationRequested") === true)
  ) {
    states.push("deallocating");
  }
  return states.join(",");
}

function generatedFrom(origin: unknown): string {
  return isSetAt(origin) ? `${textAt(origin, "kind")}.${textAt(origin, "apiGroup")} ${textAt(origin, "name")}` : "";
}

function poolStatusCells(request: JsonObject, context: RowContext): Record<string, Cell> {
  const pools = itemsAt(request, "status", "pools");
  const count = integerAt(request, "status", "poolCount");
  const final = itemsAt(request, "status", "conditions").find(
    ({ type, status }) => status === "True" && (type === "Complete" || type === "Failed"),
  );
  const isComplete = final?.["type"] === "Complete";
  const isCounted = isSetAt(request, "status") && (final === undefined || isComplete);
  const sum = (key: string): string =>
    isCounted ? `${pools.reduce((total, pool) => total + integerAt(pool, key), 0)}` : "-";
  const state = textAt(final, "type") || "Pending";
  return {
    Total: sum("totalDevices"),
    Available: sum("availableDevices"),
    Allocated: sum("allocatedDevices"),
    Unavailable: sum("unavailableDevices"),
    Errors: isCounted ? `${pools.filter((pool) => isSetAt(pool, "validationError")).length}` : "-",
    Pools: count,
    Status: isComplete && count > pools.length ? `Complete (${pools.length}/${count} pools)` : state,
    Completed: isComplete ? ageOf(timeAt(final, "lastTransitionTime"), context) : "<none>",
  };
}

function evictionTarget(eviction: JsonObject): Record<string, Cell> {
  const isPod = isSetAt(eviction, "spec", "target", "pod");
  return {
    Target: isPod ? textAt(eviction, "spec", "target", "pod", "name") : "<unset>",
    "Target Type": isPod ? "Pod" : "<unset>",
    Status: evictionStatus(eviction),
  };
}

function evictionStatus(eviction: JsonObject): string {
  for (const type of ["TargetEvicted", "Failed"]) {
    if (isConditionTrue(eviction, type)) return `${type} (${textAt(conditionOf(eviction, type), "reason")})`;
  }
  return integerAt(eviction, "status", "observedGeneration") > 0 ? "Progressing" : "Pending";
}

const PROCESSED_STATES: ReadonlySet<unknown> = new Set(["Canceled", "Interrupted", "Completed"]);

function responderCells(eviction: JsonObject, context: RowContext): Record<string, Cell> {
  const targets = itemsAt(eviction, "status", "targetResponders");
  const active = targets.filter(({ state }) => state === "Active");
  const processed = targets.filter(({ state }) => PROCESSED_STATES.has(state));
  const current = active.at(-1) ?? processed.at(-1);
  const name = current === undefined ? "<unset>" : textAt(current, "name");
  const report =
    current === undefined
      ? undefined
      : itemsAt(eviction, "status", "responders").find((responder) => responder["name"] === name);
  return {
    "Active Responder": `${name} (${active.length + processed.length}/${targets.length})`,
    "Responder Status": report === undefined ? "<unset>" : responderStatus(textAt(current, "state"), report, context),
    "Responder Expected Finish":
      report === undefined ? "<unknown>" : expectedFinish(textAt(current, "state"), report, context),
    "Responder Heartbeat": isSetAt(report, "heartbeatTime")
      ? `${ageOf(timeAt(report, "heartbeatTime"), context)} ago`
      : "<unset>",
    "Responder Status Message": textAt(report, "message").trim() || "<unset>",
  };
}

function responderStatus(state: string, report: JsonObject, context: RowContext): string {
  if (state === "Active" && isSetAt(report, "startTime")) {
    return `Started (${ageOf(timeAt(report, "startTime"), context)} ago)`;
  }
  return state === "Completed" && isSetAt(report, "completionTime")
    ? `${state} (${ageOf(timeAt(report, "completionTime"), context)} ago)`
    : state;
}

function expectedFinish(state: string, report: JsonObject, context: RowContext): string {
  if (state !== "Active") return "-";
  const finish = timeAt(report, "expectedCompletionTime");
  if (finish === undefined || !isSetAt(report, "startTime")) return "<unknown>";
  if (finish > context.now) return `in ${ageOf(context.now, { ...context, now: finish })}`;
  return `${ageOf(finish, context)} ago`;
}

function requestersText(eviction: JsonObject): string {
  const requesters = itemsAt(eviction, "status", "requesters");
  if (requesters.length === 0) return "<none>";
  const names = requesters.filter(({ intent }) => intent !== "Withdrawn").map((requester) => textAt(requester, "name"));
  return names.length === 0 ? "<withdrawn>" : joinFirst(names.sort(), 1);
}
