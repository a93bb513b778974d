/** Defaults, validation and warnings of ResourceSlices, in which drivers publish their devices. */
import { invalidValue, required, tooLong } from "../../../../meta/field-errors.ts";
import {
  isJsonObject,
  numberAt,
  objectAt,
  objectsAt,
  setMember,
  stringAt,
  type JsonObject,
} from "../../../../meta/json.ts";
import { dnsSubdomainErrors } from "../../../../meta/names.ts";
import type { FieldError } from "../../../../meta/status-error.ts";
import { immutableErrors, nameErrors } from "../../checks.ts";
import type { Kind } from "../../kind.ts";
import { driverNameErrors } from "../../pods/rules/formats.ts";
import { nodeSelectorErrors } from "../../pods/rules/scheduling-rules.ts";
import { ownPointer, ownStruct, setMissing } from "../../defaults.ts";
import { listErrors, uniquenessErrors } from "./device-checks.ts";
import { counterNameErrors, countersErrors, deviceErrors } from "./slice-device.ts";
import { internalValue } from "../../internal-version/internal-value.ts";

const DEVICES_MAX = 128;
const ADVANCED_DEVICES_MAX = 64;
const COUNTER_SETS_MAX = 8;
const POOL_NAME_BYTES_MAX = 253;
const EXACTLY_ONE = "exactly one of `nodeName`, `nodeSelector`, `allNodes`, `perDeviceNodeSelection` is required";

export const RESOURCE_SLICE: Kind = {
  setDefaults(slice, { time }) {
    const spec = ownStruct(slice, "spec");
    setMissing(spec, { driver: "" });
    setMissing(ownStruct(spec, "pool"), { name: "", generation: 0, resourceSliceCount: 0 });
    if (Array.isArray(spec["devices"]))
      spec["devices"] = objectsAt(spec, "devices").map((device) => withDeviceDefaults(device, time));
    if (Array.isArray(spec["sharedCounters"]))
      spec["sharedCounters"] = objectsAt(spec, "sharedCounters").map((set) => withAmounts(set, "counters"));
  },
  prepareCreate: (slice) => dropDisabled(slice, {}),
  prepareUpdate: dropDisabled,
  createErrors: (slice) => sliceErrors(slice, undefined),
  updateErrors: sliceErrors,
  *warnings(slice) {
    const driver = stringAt(objectAt(slice, "spec"), "driver");
    if (driver !== driver.toLowerCase())
      yield `spec.driver: driver names should be lowercase; ${JSON.stringify(driver)} contains uppercase characters`;
  },
};

function withDeviceDefaults(given: JsonObject, time: string): JsonObject {
  const device = withAmounts(given, "capacity");
  if (isJsonObject(device["nodeAllocatableResourceMappings"])) {
    const mappings: JsonObject = {};
    for (const [name, mapping] of Object.entries(device["nodeAllocatableResourceMappings"]))
      setMember(mappings, name, isJsonObject(mapping) ? { allocationMultiplier: "1", ...mapping } : mapping);
    device["nodeAllocatableResourceMappings"] = mappings;
  }
  if (Array.isArray(device["consumesCounters"]))
    device["consumesCounters"] = objectsAt(device, "consumesCounters").map((set) => withAmounts(set, "counters"));
  // A taint without timeAdded gets the current time.
  if (Array.isArray(device["taints"]))
    device["taints"] = objectsAt(device, "taints").map((taint) =>
      taint["timeAdded"] === undefined ? { ...taint, timeAdded: time } : taint,
    );
  return device;
}

const LIST_VALUES = ["bools", "ints", "strings", "versions"] as const;

/**
 * Drops fields of features that are off by default in every release, unless the stored slice has them: list attributes
 * and node resource mappings.
 */
function dropDisabled(slice: JsonObject, existing: JsonObject): void {
  const before = objectsAt(objectAt(existing, "spec"), "devices");
  const keepsMappings = before.some((device) => device["nodeAllocatableResourceMappings"] !== undefined);
  const keepsLists = before.some((device) => attributesOf(device).some(([, attribute]) => hasLists(attribute)));
  const spec = ownStruct(slice, "spec");
  if (!Array.isArray(spec["devices"])) return;
  spec["devices"] = objectsAt(spec, "devices").map((given) => {
    const { nodeAllocatableResourceMappings: mappings, ...device } = given;
    if (keepsMappings && mappings !== undefined) device["nodeAllocatableResourceMappings"] = mappings;
    if (keepsLists || !isJsonObject(device["attributes"])) return device;
    const attributes: JsonObject = {};
    for (const [name, attribute] of attributesOf(device)) setMember(attributes, name, withoutLists(attribute));
    return { ...device, attributes };
  });
}

function attributesOf(device: JsonObject): [name: string, attribute: JsonObject][] {
  return Object.entries(objectAt(device, "attributes")).map(([name, value]) => [name, objectAt({ value }, "value")]);
}

function hasLists(attribute: JsonObject): boolean {
  return LIST_VALUES.some((key) => attribute[key] !== undefined);
}

function withoutLists(given: JsonObject): JsonObject {
  const attribute = { ...given };
  for (const key of LIST_VALUES) delete attribute[key];
  return attribute;
}

/** A copy in which each amount has a value (0 by default) and each request policy has a default (null if absent). */
function withAmounts(parent: JsonObject, key: string): JsonObject {
  if (!isJsonObject(parent[key])) return { ...parent };
  const amounts: JsonObject = {};
  for (const [name, amount] of Object.entries(parent[key])) {
    const own: JsonObject = { value: "0", ...objectAt({ amount }, "amount") };
    const policy = ownPointer(own, "requestPolicy");
    if (policy !== undefined) setMissing(policy, { default: null });
    setMember(amounts, name, own);
  }
  return { ...parent, [key]: amounts };
}

function* sliceErrors(slice: JsonObject, existing: JsonObject | undefined): Generator<FieldError> {
  const spec = objectAt(slice, "spec");
  const before = objectAt(existing ?? {}, "spec");
  yield* driverNameErrors(stringAt(spec, "driver"), "spec.driver");
  yield* poolErrors(objectAt(spec, "pool"));
  if (existing !== undefined) yield* sliceChangeErrors(spec, before);
  yield* placeErrors(spec);
  if (spec["sharedCounters"] !== undefined && spec["devices"] !== undefined)
    yield invalidValue("spec", "", "only one of `sharedCounters` or `devices` is allowed");
  yield* devicesErrors(spec, before);
  const sets = objectsAt(spec, "sharedCounters");
  yield* listErrors(sets, "spec.sharedCounters", {
    max: COUNTER_SETS_MAX,
    *errors(set, field) {
      yield* counterNameErrors(stringAt(set, "name"), `${field}.name`);
      yield* countersErrors(set, `${field}.counters`);
    },
  });
  const names = sets.map((set) => stringAt(set, "name"));
  yield* uniquenessErrors(names, "spec.sharedCounters", COUNTER_SETS_MAX);
}

function* devicesErrors(spec: JsonObject, beforeSpec: JsonObject): Generator<FieldError> {
  const devices = objectsAt(spec, "devices");
  const isAdvanced = devices.some((device) =>
    ["taints", "consumesCounters"].some((key) => objectsAt(device, key).length > 0),
  );
  const max = isAdvanced ? ADVANCED_DEVICES_MAX : DEVICES_MAX;
  const before = new Map(
    objectsAt(beforeSpec, "devices")
      .toReversed()
      .map((device) => [stringAt(device, "name"), device]),
  );
  const context = { hasNodeSelectionPerDevice: spec["perDeviceNodeSelection"] === true, before };
  yield* listErrors(devices, "spec.devices", { max, errors: (device, field) => deviceErrors(device, field, context) });
  const names = devices.map((device) => stringAt(device, "name"));
  yield* uniquenessErrors(names, "spec.devices", max);
}

function* poolErrors(pool: JsonObject): Generator<FieldError> {
  yield* poolNameErrors(stringAt(pool, "name"), "spec.pool.name");
  const slices = numberAt(pool, "resourceSliceCount") ?? 0;
  if (slices <= 0) yield invalidValue("spec.pool.resourceSliceCount", slices, "must be greater than zero");
  const generation = numberAt(pool, "generation") ?? 0;
  if (generation < 0) yield invalidValue("spec.pool.generation", generation, "must be greater than or equal to zero");
}

export function* poolNameErrors(name: string, field: string): Generator<FieldError> {
  if (name === "") {
    yield required(field);
    return;
  }
  if (Buffer.byteLength(name) > POOL_NAME_BYTES_MAX) yield tooLong(field, POOL_NAME_BYTES_MAX);
  for (const part of name.split("/")) yield* nameErrors(part, field, dnsSubdomainErrors);
}

function* sliceChangeErrors(spec: JsonObject, before: JsonObject): Generator<FieldError> {
  const poolName = (of: JsonObject): string => stringAt(objectAt(of, "pool"), "name");
  yield* immutableErrors(poolName(spec), poolName(before), "spec.pool.name");
  yield* immutableErrors(stringAt(spec, "driver"), stringAt(before, "driver"), "spec.driver");
  yield* immutableErrors(spec["nodeName"], before["nodeName"], "spec.nodeName");
}

function* placeErrors(spec: JsonObject): Generator<FieldError> {
  const places: string[] = [];
  const { nodeName } = spec;
  if (nodeName === "") yield invalidValue("spec.nodeName", "", "must be either unset or set to a non-empty string");
  else if (typeof nodeName === "string") {
    places.push("`nodeName`");
    yield* nameErrors(nodeName, "spec.nodeName", dnsSubdomainErrors);
  }
  if (spec["nodeSelector"] !== undefined) {
    places.push("`nodeSelector`");
    yield* selectorErrors(objectAt(spec, "nodeSelector"), "spec.nodeSelector");
  }
  for (const key of ["allNodes", "perDeviceNodeSelection"]) {
    if (spec[key] === true) places.push(`\`${key}\``);
    else if (spec[key] === false) yield invalidValue(`spec.${key}`, false, "must be either unset or set to true");
  }
  if (places.length === 0) yield required("spec", EXACTLY_ONE);
  if (places.length > 1)
    yield invalidValue("spec", `{${places.join(", ")}}`, `${EXACTLY_ONE}, but multiple fields are set`);
}

/** Exactly one term is allowed, so that the selectors of devices from several slices can be merged. */
function* selectorErrors(selector: JsonObject, field: string): Generator<FieldError> {
  yield* nodeSelectorErrors(selector, field);
  const terms = selector["nodeSelectorTerms"];
  if (!Array.isArray(terms) || terms.length !== 1)
    yield invalidValue(
      `${field}.nodeSelectorTerms`,
      internalValue(terms, "[]NodeSelectorTerm"),
      "must have exactly one node selector term",
    );
}
