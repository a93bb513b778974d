/**
 * Sets the priority and the preemption policy of a pod from its priority class, and rejects a second default priority
 * class.
 */
import type { GroupResource } from "../../../meta/group-version.ts";
import { numberAt, objectAt, stringAt, type JsonObject } from "../../../meta/json.ts";
import type { ObjectReader } from "../../../meta/object-table.ts";
import type { AdmissionPlugin, Attributes } from "../admission.ts";
import { CREATE_AND_UPDATE, handlesOnly } from "./handled-writes.ts";
import { admissionForbidden } from "./plugin-errors.ts";

const GROUP = "scheduling.k8s.io";
const PRIORITY_CLASSES: GroupResource = { group: GROUP, resource: "priorityclasses" };
const WITHOUT_CLASS: JsonObject = { value: 0, preemptionPolicy: "PreemptLowerPriority" };

export function priority(reader: ObjectReader): AdmissionPlugin {
  return {
    name: "Priority",
    handles: handlesOnly(
      { group: "", resource: "pods", operations: CREATE_AND_UPDATE },
      { group: GROUP, resource: "priorityclasses", operations: CREATE_AND_UPDATE },
    ),
    async mutate(attributes) {
      if (attributes.resource !== "pods") return undefined;
      if (attributes.operation === "UPDATE") return keptPriority(attributes.object, attributes.existing);
      return withPriority(attributes, await classFor(reader, attributes));
    },
    validate(attributes) {
      if (attributes.resource !== "pods") rejectSecondDefault(reader, attributes);
    },
  };
}

/** Restores the fields that an update omits. Validation of pods rejects an update that changes them. */
function keptPriority(pod: JsonObject, existing: JsonObject | undefined): JsonObject | undefined {
  const before = objectAt(existing ?? {}, "spec");
  const spec = objectAt(pod, "spec");
  const kept: JsonObject = {};
  for (const member of ["priority", "preemptionPolicy"])
    if ((spec[member] ?? undefined) === undefined && (before[member] ?? undefined) !== undefined)
      kept[member] = before[member];
  return Object.keys(kept).length === 0 ? undefined : { ...pod, spec: { ...spec, ...kept } };
}

async function classFor(reader: ObjectReader, attributes: Attributes & { object: JsonObject }): Promise<JsonObject> {
  const name = stringAt(objectAt(attributes.object, "spec"), "priorityClassName");
  if (name === "") return defaultClass(reader) ?? WITHOUT_CLASS;
  const found = reader.get(PRIORITY_CLASSES, "", name) ?? (await reader.newest(PRIORITY_CLASSES, "", name));
  if (found === undefined) throw admissionForbidden(attributes, `no PriorityClass with name ${name} was found`);
  return found;
}

/** The default class with the lowest value. */
function defaultClass(reader: ObjectReader): JsonObject | undefined {
  let lowest: JsonObject | undefined;
  for (const one of reader.list(PRIORITY_CLASSES, ""))
    if (one["globalDefault"] === true && (lowest === undefined || valueOf(lowest) > valueOf(one))) lowest = one;
  return lowest;
}

function valueOf(priorityClass: JsonObject): number {
  return numberAt(priorityClass, "value") ?? 0;
}

function nameOf(object: JsonObject): string {
  return stringAt(objectAt(object, "metadata"), "name");
}

function withPriority(attributes: Attributes & { object: JsonObject }, priorityClass: JsonObject): JsonObject {
  const pod = attributes.object;
  const spec = { ...objectAt(pod, "spec") };
  const value = valueOf(priorityClass);
  const stated = numberAt(spec, "priority");
  if (stated !== undefined && stated !== value) {
    const why = `the integer value of priority (${stated}) must not be provided in pod spec; priority admission controller computed ${value} from the given PriorityClass name`;
    throw admissionForbidden(attributes, why);
  }
  const className = nameOf(priorityClass);
  if (className !== "") spec["priorityClassName"] = className;
  spec["priority"] = value;
  const { preemptionPolicy: policy } = priorityClass;
  if (typeof policy === "string") {
    const statedPolicy = spec["preemptionPolicy"];
    if (typeof statedPolicy === "string" && statedPolicy !== policy) {
      const why = `the string value of PreemptionPolicy (${statedPolicy}) must not be provided in pod spec; priority admission controller computed ${policy} from the given PriorityClass name`;
      throw admissionForbidden(attributes, why);
    }
    spec["preemptionPolicy"] = policy;
  }
  return { ...pod, spec };
}

function rejectSecondDefault(reader: ObjectReader, attributes: Attributes): void {
  const { object, operation } = attributes;
  if (object?.["globalDefault"] !== true) return;
  const other = defaultClass(reader);
  if (other === undefined || (operation === "UPDATE" && nameOf(other) === nameOf(object))) return;
  throw admissionForbidden(
    attributes,
    `PriorityClass ${nameOf(other)} is already marked as default. Only one default can exist`,
  );
}
