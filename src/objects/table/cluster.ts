/**
 * Rows of nodes, events, and kinds with few columns, such as ConfigMap, Lease and APIService. Callers pass events in
 * the format of the core group.
 */
import type { JsonObject } from "../../meta/json.ts";
import {
  ageOf,
  amountOf,
  conditionOf,
  flagAt,
  integerAt,
  isSetAt,
  itemsAt,
  joinFirst,
  joinOr,
  optionalText,
  qualifiedBy,
  sizeAt,
  textAt,
  textMembers,
  timeAt,
  valueAt,
  type Cell,
  type RowContext,
  type RowPrinters,
} from "./row.ts";

const NODE_ROLE_PREFIX = "node-role.kubernetes.io/";
const NODE_ROLE_LABEL = "kubernetes.io/role";
const STORAGE_VERSIONS_SHOWN = 3;

export const CLUSTER_PRINTERS: RowPrinters = {
  "/Node": nodeCells,
  "/Event": eventCells,
  "events.k8s.io/Event": eventCells,
  "/ConfigMap": (object) => ({ Data: sizeAt(object, "data") + sizeAt(object, "binaryData") }),
  "/Secret": (object) => ({ Data: sizeAt(object, "data") }),
  "/ServiceAccount": (object) => ({ Secrets: sizeAt(object, "secrets") }),
  "/ResourceQuota": (object) => ({
    Request: quotaText(object, (name) => !name.startsWith("limits.")),
    Limit: quotaText(object, (name) => name.startsWith("limits.")),
  }),
  "/ComponentStatus": componentCells,
  "coordination.k8s.io/Lease": (object) => ({ Holder: textAt(object, "spec", "holderIdentity") }),
  "flowcontrol.apiserver.k8s.io/FlowSchema": (object) => ({
    MatchingPrecedence: integerAt(object, "spec", "matchingPrecedence"),
    DistinguisherMethod: isSetAt(object, "spec", "distinguisherMethod")
      ? textAt(object, "spec", "distinguisherMethod", "type")
      : "<none>",
    MissingPL: optionalText("?", conditionOf(object, "Dangling"), "status"),
  }),
  "flowcontrol.apiserver.k8s.io/PriorityLevelConfiguration": priorityLevelCells,
  "internal.apiserver.k8s.io/StorageVersion": (object) => ({
    CommonEncodingVersion: optionalText("<unset>", object, "status", "commonEncodingVersion"),
    StorageVersions: joinFirst(
      itemsAt(object, "status", "storageVersions").map(
        (version) => `${textAt(version, "apiServerID")}=${textAt(version, "encodingVersion")}`,
      ),
      STORAGE_VERSIONS_SHOWN,
    ),
  }),
  "storagemigration.k8s.io/StorageVersionMigration": (object) => ({
    Resource: migratedResource(valueAt(object, "spec", "resource")),
    Status: migrationState(object),
  }),
  "apiregistration.k8s.io/APIService": (object) => ({
    Service: isSetAt(object, "spec", "service")
      ? `${textAt(object, "spec", "service", "namespace")}/${textAt(object, "spec", "service", "name")}`
      : "Local",
    Available: availability(object),
  }),
};

function nodeCells(node: JsonObject, { gates }: RowContext): Record<string, Cell> {
  const info = valueAt(node, "status", "nodeInfo");
  const architecture = textAt(info, "architecture");
  const kernel = textAt(info, "kernelVersion") || "<unknown>";
  return {
    Status: nodeStatus(node),
    Roles: nodeRoles(node),
    "Internal-IP": nodeAddress(node, "InternalIP"),
    "External-IP": nodeAddress(node, "ExternalIP"),
    "OS-Image": textAt(info, "osImage") || "<unknown>",
    "Kernel-Version":
      architecture !== "" && gates.isOn("NodeTableArchitecture") ? `${kernel} (${architecture})` : kernel,
    "Container-Runtime": textAt(info, "containerRuntimeVersion") || "<unknown>",
  };
}

function nodeStatus(node: JsonObject): string {
  const ready = itemsAt(node, "status", "conditions").findLast(({ type }) => type === "Ready");
  const state = ready === undefined ? "Unknown" : ready["status"] === "True" ? "Ready" : "NotReady";
  return flagAt(node, "spec", "unschedulable") ? `${state},SchedulingDisabled` : state;
}

function nodeRoles(node: JsonObject): string {
  const roles = textMembers(valueAt(node, "metadata", "labels")).map(([key, value]) => {
    if (key.startsWith(NODE_ROLE_PREFIX)) return key.slice(NODE_ROLE_PREFIX.length);
    return key === NODE_ROLE_LABEL ? value : "";
  });
  return joinOr("<none>", [...new Set(roles.filter((role) => role !== ""))].sort());
}

function nodeAddress(node: JsonObject, type: string): string {
  const address = itemsAt(node, "status", "addresses").find((candidate) => candidate["type"] === type);
  return address === undefined ? "<none>" : textAt(address, "address");
}

function eventCells(event: JsonObject, context: RowContext): Record<string, Cell> {
  const firstSeen = ageOf(timeAt(event, "firstTimestamp") ?? timeAt(event, "eventTime"), context);
  const last = timeAt(event, "lastTimestamp");
  const isSeries = isSetAt(event, "series");
  const kind = textAt(event, "involvedObject", "kind").toLowerCase();
  const name = textAt(event, "involvedObject", "name");
  const component = textAt(event, "source", "component") || textAt(event, "reportingComponent");
  const instance = textAt(event, "source", "host") || textAt(event, "reportingInstance");
  const lastSeen = last === undefined ? firstSeen : ageOf(last, context);
  return {
    "Last Seen": isSeries ? ageOf(timeAt(event, "series", "lastObservedTime"), context) : lastSeen,
    Type: textAt(event, "type"),
    Reason: textAt(event, "reason"),
    Object: name === "" ? kind : `${kind}/${name}`,
    Subobject: textAt(event, "involvedObject", "fieldPath"),
    Source: instance === "" ? component : `${component}, ${instance}`,
    Message: textAt(event, "message").trim(),
    "First Seen": firstSeen,
    Count: isSeries ? integerAt(event, "series", "count") : integerAt(event, "count") || 1,
  };
}

function quotaText(quota: JsonObject, isShown: (name: string) => boolean): string {
  const hard = valueAt(quota, "status", "hard");
  const used = valueAt(quota, "status", "used");
  return textMembers(hard)
    .map(([name]) => name)
    .filter(isShown)
    .sort()
    .map((name) => `${name}: ${amountOf(used, name)}/${amountOf(hard, name)}`)
    .join(", ");
}

function componentCells(component: JsonObject): Record<string, Cell> {
  const healthy = itemsAt(component, "conditions").find(({ type }) => type === "Healthy");
  const status = healthy?.["status"] === "True" ? "Healthy" : "Unhealthy";
  return {
    Status: healthy === undefined ? "Unknown" : status,
    Message: textAt(healthy, "message"),
    Error: textAt(healthy, "error"),
  };
}

/** Versions before v1beta3 have another name for the concurrency shares. */
function priorityLevelCells(level: JsonObject): Record<string, Cell> {
  const limited = valueAt(level, "spec", "limited");
  const queuing = valueAt(limited, "limitResponse", "queuing");
  const shares = isSetAt(limited, "nominalConcurrencyShares") ? "nominalConcurrencyShares" : "assuredConcurrencyShares";
  const queuingCell = (key: string): Cell => (isSetAt(queuing) ? integerAt(queuing, key) : "<none>");
  return {
    NominalConcurrencyShares: isSetAt(limited) ? integerAt(limited, shares) : "<none>",
    Queues: queuingCell("queues"),
    HandSize: queuingCell("handSize"),
    QueueLengthLimit: queuingCell("queueLengthLimit"),
  };
}

/** The resource of a migration. In v1alpha1 it also names the version, which is shown. */
function migratedResource(resource: unknown): string {
  const name = textAt(resource, "resource");
  const group = textAt(resource, "group");
  return isSetAt(resource, "version") ? `${name}.${textAt(resource, "version")}.${group}` : qualifiedBy(group, name);
}

function migrationState(migration: JsonObject): string {
  const state = itemsAt(migration, "status", "conditions").findLast(
    ({ type, status }) => status === "True" && (type === "Running" || type === "Failed" || type === "Succeeded"),
  );
  return textAt(state, "type") || "Unknown";
}

function availability(apiService: JsonObject): string {
  const condition = conditionOf(apiService, "Available");
  if (condition === undefined) return "Unknown";
  const status = textAt(condition, "status");
  const reason = textAt(condition, "reason");
  return status === "True" || reason === "" ? status : `${status} (${reason})`;
}
