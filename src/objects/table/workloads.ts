/** Rows of workloads: deployments, replica sets, daemon sets, stateful sets, jobs and cron jobs. */
import type { JsonObject } from "../../meta/json.ts";
import { humanDuration } from "./duration.ts";
import {
  ageOf,
  containerCells,
  flagAt,
  integerAt,
  isConditionTrue,
  isDeleting,
  isSetAt,
  itemsAt,
  labelSelectorCell,
  labelSelectorText,
  labelsText,
  optionalText,
  qualifiedBy,
  sizeAt,
  textAt,
  timeAt,
  valueAt,
  type RowContext,
  type RowPrinters,
} from "./row.ts";

export const WORKLOAD_PRINTERS: RowPrinters = {
  "apps/Deployment": (object) => ({
    Ready: readyText(object),
    "Up-to-date": integerAt(object, "status", "updatedReplicas"),
    Available: integerAt(object, "status", "availableReplicas"),
    ...templateCells(object),
    Selector: labelSelectorText(valueAt(object, "spec", "selector")) ?? "<invalid>",
  }),
  "apps/ReplicaSet": (object) => ({
    ...templateCells(object),
    Selector: labelSelectorCell(valueAt(object, "spec", "selector")),
  }),
  "/ReplicationController": (object) => ({
    Desired: integerAt(object, "spec", "replicas"),
    ...templateCells(object),
    Selector: labelsText(valueAt(object, "spec", "selector")),
  }),
  "apps/DaemonSet": (object) => ({
    "Node Selector": labelsText(valueAt(object, "spec", "template", "spec", "nodeSelector")),
    ...templateCells(object),
    Selector: labelSelectorCell(valueAt(object, "spec", "selector")),
  }),
  "apps/StatefulSet": (object) => ({ Ready: readyText(object), ...templateCells(object) }),
  "apps/ControllerRevision": (object) => ({
    Controller: controllerName(object),
    Revision: integerAt(object, "revision"),
  }),
  "batch/Job": (object, context) => ({
    Status: jobStatus(object, context),
    Completions: jobCompletions(object),
    Duration: jobDuration(object, context),
    ...templateCells(object),
    Selector: labelSelectorCell(valueAt(object, "spec", "selector")),
  }),
  "batch/CronJob": (object, context) => ({
    Timezone: optionalText("<none>", object, "spec", "timeZone"),
    Suspend: suspendText(object),
    Active: sizeAt(object, "status", "active"),
    "Last Schedule": isSetAt(object, "status", "lastScheduleTime")
      ? ageOf(timeAt(object, "status", "lastScheduleTime"), context)
      : "<none>",
    ...containerCells(valueAt(object, "spec", "jobTemplate", "spec", "template", "spec")),
    Selector: labelSelectorCell(valueAt(object, "spec", "jobTemplate", "spec", "selector")),
  }),
};

function templateCells(object: JsonObject): { readonly Containers: string; readonly Images: string } {
  return containerCells(valueAt(object, "spec", "template", "spec"));
}

function readyText(object: JsonObject): string {
  return `${integerAt(object, "status", "readyReplicas")}/${integerAt(object, "spec", "replicas")}`;
}

function controllerName(object: JsonObject): string {
  const owner = itemsAt(object, "metadata", "ownerReferences").find((reference) => flagAt(reference, "controller"));
  if (owner === undefined) return "<none>";
  const apiVersion = textAt(owner, "apiVersion");
  const group = apiVersion.includes("/") ? apiVersion.slice(0, apiVersion.indexOf("/")) : "";
  const kind = textAt(owner, "kind");
  const name = textAt(owner, "name");
  return kind === "" && group === "" ? name : `${qualifiedBy(group, kind).toLowerCase()}/${name}`;
}

function jobStatus(job: JsonObject, { gates }: RowContext): string {
  if (isConditionTrue(job, "Complete")) return "Complete";
  if (isConditionTrue(job, "Failed")) return "Failed";
  if (isDeleting(job)) return "Terminating";
  if (isConditionTrue(job, "Suspended")) return "Suspended";
  if (isConditionTrue(job, "FailureTarget")) return "FailureTarget";
  return gates.isOn("JobTableSuccessCriteriaMet") && isConditionTrue(job, "SuccessCriteriaMet")
    ? "SuccessCriteriaMet"
    : "Running";
}

function jobCompletions(job: JsonObject): string {
  const succeeded = integerAt(job, "status", "succeeded");
  if (isSetAt(job, "spec", "completions")) return `${succeeded}/${integerAt(job, "spec", "completions")}`;
  const parallelism = integerAt(job, "spec", "parallelism");
  return parallelism > 1 ? `${succeeded}/1 of ${parallelism}` : `${succeeded}/1`;
}

function jobDuration(job: JsonObject, { now }: RowContext): string {
  const start = timeAt(job, "status", "startTime");
  return start === undefined ? "" : humanDuration((timeAt(job, "status", "completionTime") ?? now) - start);
}

function suspendText(cronJob: JsonObject): string {
  if (!isSetAt(cronJob, "spec", "suspend")) return "<unset>";
  return flagAt(cronJob, "spec", "suspend") ? "True" : "False";
}
