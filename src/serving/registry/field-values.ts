/** Reads the values of fields that field selectors compare, from an object in its stored version. */
import { convertFieldLabel } from "../../objects/conversion/convert.ts";
import { isJsonObject, objectAt, stringAt, type JsonObject } from "../../meta/json.ts";

type FieldValue = (object: JsonObject) => string;

/** Returns a function that reads the field as the text that a selector compares; "" if the field is absent. */
export function fieldValue(group: string, resource: string, field: string): FieldValue {
  const special = SPECIAL.get(`${group}/${resource}/${field}`);
  return special ?? pathValue(renamed(group, resource, field));
}

const SPECIAL: ReadonlyMap<string, FieldValue> = new Map<string, FieldValue>([
  ["/pods/spec.host", pathValue("spec.nodeName")],
  ["/pods/spec.hostNetwork", (pod) => String(objectAt(pod, "spec")["hostNetwork"] === true)],
  ["/pods/status.podIP", podIp],
  ["/pods/status.podIPs", podIp],
  ["/nodes/spec.unschedulable", (node) => String(objectAt(node, "spec")["unschedulable"] === true)],
  ["/replicationcontrollers/status.replicas", (controller) => String(objectAt(controller, "status")["replicas"] ?? 0)],
  ["batch/jobs/status.successful", (job) => String(objectAt(job, "status")["succeeded"] ?? 0)],
  ["/events/source", eventSource],
]);

/** events.k8s.io has field names of its own, but its objects are stored as core Events. */
function renamed(group: string, resource: string, field: string): string {
  if (resource !== "events") return field;
  return convertFieldLabel({ kind: "Event", label: field }, { group, version: "v1" }, { group: "", version: "v1" });
}

function pathValue(path: string): FieldValue {
  const segments = path.split(".");
  return (object) => {
    let value: unknown = object;
    for (const segment of segments) value = isJsonObject(value) ? value[segment] : undefined;
    return value === undefined || value === null || typeof value === "object" ? "" : String(value);
  };
}

function podIp(pod: JsonObject): string {
  const addresses = objectAt(pod, "status")["podIPs"];
  const first: unknown = Array.isArray(addresses) ? addresses[0] : undefined;
  return isJsonObject(first) ? stringAt(first, "ip") : stringAt(objectAt(pod, "status"), "podIP");
}

function eventSource(event: JsonObject): string {
  return stringAt(objectAt(event, "source"), "component") || stringAt(event, "reportingComponent");
}
