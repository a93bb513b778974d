/** Classes of devices, and the slices in which drivers say what they have. */
import { invalidValue, required, tooLong } from "../../../meta/field-errors.ts";
import { objectAt, stringAt, type JsonObject } from "../../../meta/json.ts";
import { dnsLabelErrors, dnsSubdomainErrors, qualifiedNameErrors } from "../../../meta/names.ts";
import type { FieldError } from "../../../meta/status-error.ts";
import { immutableErrors, nameErrors, numberAt, objectsAt } from "../../checks.ts";
import type { Kind } from "../../kind.ts";
import { ownStruct, setMissing } from "../defaults.ts";
import { nodeSelectorErrors } from "../node-selector.ts";
import { driverNameErrors } from "../volume-source-checks.ts";
import {
  attributeNameErrors,
  configurationErrors,
  listErrors,
  selectorsErrors,
  taintErrors,
  uniquenessErrors,
} from "./device-checks.ts";

const CONFIG_MAX = 32;
const TAINTS_MAX = 16;
const DEVICES_MAX = 128;
const ADVANCED_DEVICES_MAX = 64;
const POOL_NAME_BYTES_MAX = 253;
const EXACTLY_ONE = "exactly one of `nodeName`, `nodeSelector`, `allNodes`, `perDeviceNodeSelection` is required";
/** The release from which a class can stand for an extended resource without asking for it. */
const EXTENDED_RESOURCE_FROM_MINOR = 36;

export const DEVICE_CLASS: Kind = {
  setDefaults(deviceClass) {
    ownStruct(deviceClass, "spec");
  },
  prepareCreate(deviceClass, { minor }) {
    if (minor < EXTENDED_RESOURCE_FROM_MINOR) delete objectAt(deviceClass, "spec")["extendedResourceName"];
  },
  prepareUpdate(deviceClass, existing, { minor }) {
    const before = objectAt(existing, "spec")["extendedResourceName"];
    if (minor < EXTENDED_RESOURCE_FROM_MINOR && before === undefined)
      delete objectAt(deviceClass, "spec")["extendedResourceName"];
  },
  createErrors: deviceClassErrors,
  updateErrors: deviceClassErrors,
};

function* deviceClassErrors(deviceClass: JsonObject): Generator<FieldError> {
  const spec = objectAt(deviceClass, "spec");
  yield* selectorsErrors(spec, "spec");
  yield* listErrors(objectsAt(spec, "config"), "spec.config", { max: CONFIG_MAX, errors: configurationErrors });
  const name = spec["extendedResourceName"];
  if (typeof name === "string" && !isExtendedResourceName(name))
    yield invalidValue("spec.extendedResourceName", name, "must be a valid extended resource name");
}

function isExtendedResourceName(name: string): boolean {
  const isNative = !name.includes("/") || name.includes("kubernetes.io/");
  return !isNative && !name.startsWith("requests.") && qualifiedNameErrors(`requests.${name}`).length === 0;
}

export const RESOURCE_SLICE: Kind = {
  setDefaults(slice, { time }) {
    const spec = ownStruct(slice, "spec");
    setMissing(spec, { driver: "" });
    setMissing(ownStruct(spec, "pool"), { name: "", generation: 0, resourceSliceCount: 0 });
    if (!Array.isArray(spec["devices"])) return;
    spec["devices"] = objectsAt(spec, "devices").map((device) => withTaintTimes(device, time));
  },
  createErrors: (slice) => sliceErrors(slice, undefined),
  updateErrors: sliceErrors,
  *warnings(slice) {
    const driver = stringAt(objectAt(slice, "spec"), "driver");
    if (driver !== driver.toLowerCase())
      yield `spec.driver: driver names should be lowercase; ${JSON.stringify(driver)} contains uppercase characters`;
  },
};

/** A taint is there from when it was first said. */
function withTaintTimes(device: JsonObject, time: string): JsonObject {
  if (!Array.isArray(device["taints"])) return device;
  const taints = objectsAt(device, "taints").map((taint) =>
    taint["timeAdded"] === undefined ? { ...taint, timeAdded: time } : taint,
  );
  return { ...device, taints };
}

/** DIFFERS: the values of attributes, capacities and counters are not looked at. */
function* sliceErrors(slice: JsonObject, existing: JsonObject | undefined): Generator<FieldError> {
  const spec = objectAt(slice, "spec");
  yield* driverNameErrors(stringAt(spec, "driver"), "spec.driver");
  yield* poolErrors(objectAt(spec, "pool"));
  if (existing !== undefined) yield* sliceChangeErrors(spec, objectAt(existing, "spec"));
  yield* placeErrors(spec);
  if (spec["sharedCounters"] !== undefined && spec["devices"] !== undefined)
    yield invalidValue("spec", "", "only one of `sharedCounters` or `devices` is allowed");
  const devices = objectsAt(spec, "devices");
  const isAdvanced = devices.some((device) =>
    ["taints", "consumesCounters"].some((key) => objectsAt(device, key).length > 0),
  );
  const max = isAdvanced ? ADVANCED_DEVICES_MAX : DEVICES_MAX;
  yield* listErrors(devices, "spec.devices", { max, errors: deviceErrors });
  const names = devices.map((device) => stringAt(device, "name"));
  yield* uniquenessErrors(names, "spec.devices", max);
}

function* poolErrors(pool: JsonObject): Generator<FieldError> {
  const name = stringAt(pool, "name");
  if (name === "") yield required("spec.pool.name");
  else {
    if (Buffer.byteLength(name) > POOL_NAME_BYTES_MAX) yield tooLong("spec.pool.name", POOL_NAME_BYTES_MAX);
    for (const part of name.split("/")) yield* nameErrors(part, "spec.pool.name", dnsSubdomainErrors);
  }
  const slices = numberAt(pool, "resourceSliceCount") ?? 0;
  if (slices <= 0) yield invalidValue("spec.pool.resourceSliceCount", slices, "must be greater than zero");
  const generation = numberAt(pool, "generation") ?? 0;
  if (generation < 0) yield invalidValue("spec.pool.generation", generation, "must be greater than or equal to zero");
}

function* sliceChangeErrors(spec: JsonObject, before: JsonObject): Generator<FieldError> {
  const poolName = (of: JsonObject): string => stringAt(objectAt(of, "pool"), "name");
  yield* immutableErrors(poolName(spec), poolName(before), "spec.pool.name");
  yield* immutableErrors(stringAt(spec, "driver"), stringAt(before, "driver"), "spec.driver");
  yield* immutableErrors(spec["nodeName"], before["nodeName"], "spec.nodeName");
}

function* placeErrors(spec: JsonObject): Generator<FieldError> {
  const set: string[] = [];
  const { nodeName } = spec;
  if (nodeName === "") yield invalidValue("spec.nodeName", "", "must be either unset or set to a non-empty string");
  else if (typeof nodeName === "string") {
    set.push("`nodeName`");
    yield* nameErrors(nodeName, "spec.nodeName", dnsSubdomainErrors);
  }
  if (spec["nodeSelector"] !== undefined) {
    set.push("`nodeSelector`");
    yield* nodeSelectorErrors(objectAt(spec, "nodeSelector"), "spec.nodeSelector", { allowsInvalidValues: false });
  }
  for (const key of ["allNodes", "perDeviceNodeSelection"]) {
    if (spec[key] === true) set.push(`\`${key}\``);
    else if (spec[key] === false) yield invalidValue(`spec.${key}`, false, "must be either unset or set to true");
  }
  if (set.length === 0) yield required("spec", EXACTLY_ONE);
  if (set.length > 1) yield invalidValue("spec", `{${set.join(", ")}}`, `${EXACTLY_ONE}, but multiple fields are set`);
}

function* deviceErrors(device: JsonObject, field: string): Generator<FieldError> {
  yield* nameErrors(stringAt(device, "name"), `${field}.name`, dnsLabelErrors);
  for (const key of ["attributes", "capacity"])
    for (const name of Object.keys(objectAt(device, key)).sort()) yield* attributeNameErrors(name, `${field}.${key}`);
  yield* listErrors(objectsAt(device, "taints"), `${field}.taints`, { max: TAINTS_MAX, errors: taintErrors });
}
