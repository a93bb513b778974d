/**
 * Enforces the LimitRanges of a namespace: sets default requests and limits of containers, and checks minimum, maximum
 * and limit-to-request ratio.
 */
import { aggregateText } from "../../../meta/aggregate-text.ts";
import type { GroupResource } from "../../../meta/group-version.ts";
import { objectAt, objectsAt, setMember, stringAt, type JsonObject } from "../../../meta/json.ts";
import type { ObjectReader } from "../../../meta/object-table.ts";
import { requestEntityTooLarge } from "../../../meta/status-error.ts";
import type { AdmissionPlugin, Attributes } from "../admission.ts";
import { CREATE_AND_UPDATE, handlesOnly } from "./handled-writes.ts";
import { amountsAt } from "../../../meta/amounts.ts";
import { limitErrors, type LimitItem, requestLimitErrors } from "./limit-rules.ts";
import { specifiedAmounts } from "./pod-amounts.ts";
import { admissionForbidden } from "./plugin-errors.ts";

const LIMIT_RANGES: GroupResource = { group: "", resource: "limitranges" };
const ANNOTATION = "kubernetes.io/limit-ranger";
/** DIFFERS: kubernetes reports all errors. */
const REPORTED_ERRORS_MAX = 100;

export function limitRanger(reader: ObjectReader): AdmissionPlugin {
  return {
    name: "LimitRanger",
    handles: handlesOnly(
      // The resources of a pod can change only on create and through the resize subresource.
      { group: "", resource: "pods", operations: { CREATE: [""], UPDATE: ["resize"] } },
      { group: "", resource: "persistentvolumeclaims", operations: CREATE_AND_UPDATE },
    ),
    mutate(attributes) {
      if (attributes.resource !== "pods") return undefined;
      let pod = attributes.object;
      for (const range of rangesFor(reader, attributes)) pod = withDefaults(pod, range);
      return pod === attributes.object ? undefined : pod;
    },
    validate(attributes) {
      const { object, resource } = attributes;
      if (object === undefined) return;
      for (const range of rangesFor(reader, attributes)) {
        const errors = resource === "pods" ? podErrors(object, range) : claimErrors(object, range);
        const reported = [...errors.take(REPORTED_ERRORS_MAX)];
        if (reported.length > 0) throw admissionForbidden(attributes, aggregateText(reported));
      }
    },
  };
}

/** The LimitRanges of the namespace; none if the object is being deleted. */
function rangesFor(reader: ObjectReader, { existing, namespace }: Attributes): readonly JsonObject[] {
  const isLeaving = (objectAt(existing ?? {}, "metadata")["deletionTimestamp"] ?? undefined) !== undefined;
  return isLeaving ? [] : reader.list(LIMIT_RANGES, namespace);
}

function itemsOf(range: JsonObject, limitType: string): JsonObject[] {
  return objectsAt(objectAt(range, "spec"), "limits").filter((item) => stringAt(item, "type") === limitType);
}

interface Defaults {
  readonly requests: JsonObject;
  readonly limits: JsonObject;
}

function withDefaults(pod: JsonObject, range: JsonObject): JsonObject {
  const defaults = defaultsOf(range);
  const spec = objectAt(pod, "spec");
  rejectExcess(spec, defaults);
  const changed: JsonObject = { ...spec };
  const notes: string[] = [];
  for (const [list, label] of [
    ["containers", "container"],
    ["initContainers", "init container"],
  ] as const)
    if (Array.isArray(spec[list]))
      changed[list] = objectsAt(spec, list).map((container) =>
        withContainerDefaults(container, defaults, label, notes),
      );
  if (notes.length === 0) return pod;
  const metadata = objectAt(pod, "metadata");
  const annotations = {
    ...objectAt(metadata, "annotations"),
    [ANNOTATION]: `LimitRanger plugin set: ${notes.join("; ")}`,
  };
  return { ...pod, metadata: { ...metadata, annotations }, spec: changed };
}

function defaultsOf(range: JsonObject): Defaults {
  const requests: JsonObject = {};
  const limits: JsonObject = {};
  for (const item of itemsOf(range, "Container")) {
    for (const [name, value] of Object.entries(objectAt(item, "defaultRequest"))) setMember(requests, name, value);
    for (const [name, value] of Object.entries(objectAt(item, "default"))) setMember(limits, name, value);
  }
  return { requests, limits };
}

/**
 * Maximum number of default requests and limits in one pod. Without it, a LimitRange with many resources and a pod with
 * many containers could result in an object that is too large to store.
 */
const DEFAULTS_SET_MAX = 200_000;

function rejectExcess(spec: JsonObject, { requests, limits }: Defaults): void {
  const containers = objectsAt(spec, "containers").length + objectsAt(spec, "initContainers").length;
  const each = Object.keys(requests).length + Object.keys(limits).length;
  if (containers * each > DEFAULTS_SET_MAX) throw requestEntityTooLarge(`limit is ${DEFAULTS_SET_MAX} default amounts`);
}

function withContainerDefaults(container: JsonObject, defaults: Defaults, label: string, notes: string[]): JsonObject {
  const resources = objectAt(container, "resources");
  const changed: JsonObject = { ...resources };
  const name = stringAt(container, "name");
  for (const [side, noun] of [
    ["requests", "request"],
    ["limits", "limit"],
  ] as const) {
    const stated = objectAt(resources, side);
    const missing = Object.keys(defaults[side]).filter((resource) => !Object.hasOwn(stated, resource));
    if (missing.length === 0) continue;
    const filled = { ...stated };
    for (const resource of missing) setMember(filled, resource, defaults[side][resource]);
    changed[side] = filled;
    notes.push(`${missing.sort().join(", ")} ${noun} for ${label} ${name}`);
  }
  return { ...container, resources: changed };
}

function limitItem(item: JsonObject): LimitItem {
  return {
    limitType: stringAt(item, "type"),
    min: amountsAt(item, "min"),
    max: amountsAt(item, "max"),
    ratio: amountsAt(item, "maxLimitRequestRatio"),
  };
}

function* podErrors(pod: JsonObject, range: JsonObject): Generator<string> {
  const spec = objectAt(pod, "spec");
  for (const item of objectsAt(objectAt(range, "spec"), "limits")) {
    const limits = limitItem(item);
    if (limits.limitType === "Container")
      for (const container of [...objectsAt(spec, "containers"), ...objectsAt(spec, "initContainers")]) {
        const resources = objectAt(container, "resources");
        yield* limitErrors(limits, {
          requests: amountsAt(resources, "requests"),
          limits: amountsAt(resources, "limits"),
        });
      }
    else if (limits.limitType === "Pod")
      yield* limitErrors(limits, {
        requests: specifiedAmounts(pod, "requests"),
        limits: specifiedAmounts(pod, "limits"),
      });
  }
}

function* claimErrors(claim: JsonObject, range: JsonObject): Generator<string> {
  const requests = amountsAt(objectAt(objectAt(claim, "spec"), "resources"), "requests");
  for (const item of itemsOf(range, "PersistentVolumeClaim")) yield* requestLimitErrors(limitItem(item), requests);
}
