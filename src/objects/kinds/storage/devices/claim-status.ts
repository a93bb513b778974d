/** Defaults and validation of the status of a ResourceClaim: allocation, consumers and device statuses. */
import {
  duplicateValue,
  forbiddenField,
  invalidValue,
  required,
  tooLong,
  tooMany,
  unsupportedValue,
} from "../../../../meta/field-errors.ts";
import { formatAddress, parseLooseCidr } from "../../../../meta/ip-address.ts";
import { isJsonObject, objectAt, objectsAt, stringAt, stringsAt, type JsonObject } from "../../../../meta/json.ts";
import { dnsLabelErrors } from "../../../../meta/names.ts";
import type { FieldError } from "../../../../meta/status-error.ts";
import { nameErrors } from "../../checks.ts";
import { driverNameErrors } from "../../pods/rules/formats.ts";
import { nodeSelectorErrors } from "../../pods/rules/scheduling-rules.ts";
import { conditionErrors } from "../../storage-versions/conditions.ts";
import { ownPointer, ownStruct, setMissing, setMissingInItems } from "../../defaults.ts";
import { configurationErrors, listErrors, parametersErrors, uniquenessErrors } from "./device-checks.ts";
import { requestReferenceErrors, referenceListErrors, setTolerationDefaults } from "./device-claim.ts";
import { poolNameErrors } from "./resource-slice.ts";
import { bindingErrors } from "./slice-device.ts";
import { uuidErrors } from "./uuid.ts";
import { internalValue, isSameInternal } from "../../internal-version/internal-value.ts";

const RESERVED_FOR_MAX = 256;
const RESULTS_MAX = 32;
const CONFIG_MAX = 64;
const CONDITIONS_MAX = 8;
const INTERFACE_NAME_BYTES_MAX = 256;
const HARDWARE_ADDRESS_BYTES_MAX = 128;
const IPS_MAX = 16;
const CONFIG_SOURCES: readonly string[] = ["FromClaim", "FromClass"];

/** Adds the fields that Go always writes. */
export function setClaimStatusDefaults(status: JsonObject): void {
  setMissingInItems(status, "devices", { driver: "", pool: "", device: "", conditions: null });
  setMissingInItems(status, "reservedFor", { resource: "", name: "", uid: "" });
  const allocation = ownPointer(status, "allocation");
  if (allocation === undefined) return;
  const devices = ownStruct(allocation, "devices");
  setMissingInItems(devices, "results", { request: "", driver: "", pool: "", device: "" });
  for (const result of objectsAt(devices, "results")) setTolerationDefaults(result);
  setMissingInItems(devices, "config", { source: "" });
  const selector = ownPointer(allocation, "nodeSelector");
  if (selector !== undefined) setMissing(selector, { nodeSelectorTerms: null });
}

/** Drops the statuses of devices that are no longer allocated to the claim. */
export function dropDeallocated(claim: JsonObject, existing: JsonObject): void {
  const status = ownStruct(claim, "status");
  const remaining = allocatedOf(status);
  const gone = new Set([...allocatedOf(objectAt(existing, "status"))].filter((identity) => !remaining.has(identity)));
  if (gone.size === 0) return;
  const devices = objectsAt(status, "devices").filter((device) => !gone.has(identityOf(device)));
  if (devices.length === 0) delete status["devices"];
  else status["devices"] = devices;
}

function allocatedOf(status: JsonObject): Set<string> {
  return new Set(objectsAt(objectAt(objectAt(status, "allocation"), "devices"), "results").map(identityOf));
}

function deviceId(device: JsonObject): JsonObject {
  return {
    Driver: stringAt(device, "driver"),
    Pool: stringAt(device, "pool"),
    Device: stringAt(device, "device"),
    ShareID: stringAt(device, "shareID"),
  };
}

function identityOf(device: JsonObject): string {
  return JSON.stringify(deviceId(device));
}

/** `names`: the names of the claim's requests. */
export function* claimStatusErrors(
  claim: JsonObject,
  existing: JsonObject,
  names: ReadonlySet<string>,
): Generator<FieldError> {
  const status = objectAt(claim, "status");
  const before = objectAt(existing, "status");
  const consumers = objectsAt(status, "reservedFor");
  yield* consumersErrors(consumers, "status.reservedFor");
  yield* devicesErrors(status, "status.devices");
  const { allocation } = status;
  if (consumers.length > 0) {
    if (allocation === undefined)
      yield forbiddenField("status.reservedFor", "may not be specified when `allocated` is not set");
    else if (objectAt(claim, "metadata")["deletionTimestamp"] !== undefined)
      yield* newConsumerErrors(consumers, objectsAt(before, "reservedFor"));
  }
  if (allocation === undefined) return;
  if (before["allocation"] === undefined) yield* allocationErrors(objectAt(status, "allocation"), names);
  else if (!isSameInternal(allocation, before["allocation"], "AllocationResult"))
    yield invalidValue("status.allocation", internalValue(allocation, "AllocationResult"), "field is immutable");
}

function* consumersErrors(consumers: readonly JsonObject[], field: string): Generator<FieldError> {
  yield* listErrors(consumers, field, {
    max: RESERVED_FOR_MAX,
    *errors(consumer, at) {
      for (const key of ["resource", "name", "uid"]) if (stringAt(consumer, key) === "") yield required(`${at}.${key}`);
    },
  });
  const uids = consumers.map((consumer) => stringAt(consumer, "uid"));
  yield* uniquenessErrors(uids, field, RESERVED_FOR_MAX);
}

function* newConsumerErrors(consumers: readonly JsonObject[], before: readonly JsonObject[]): Generator<FieldError> {
  const identity = (consumer: JsonObject): string =>
    JSON.stringify(["apiGroup", "resource", "name", "uid"].map((key) => stringAt(consumer, key)));
  const known = new Set(before.map(identity));
  if (consumers.some((consumer) => !known.has(identity(consumer))))
    yield forbiddenField(
      "status.reservedFor",
      "new entries may not be added while `deallocationRequested` or `deletionTimestamp` are set",
    );
}

function* devicesErrors(status: JsonObject, field: string): Generator<FieldError> {
  const allocated = allocatedOf(status);
  const devices = objectsAt(status, "devices");
  for (const [index, device] of devices.entries()) yield* deviceStatusErrors(device, `${field}[${index}]`, allocated);
  const seen = new Set<string>();
  for (const [index, device] of devices.entries()) {
    const identity = identityOf(device);
    if (seen.has(identity)) yield duplicateValue(`${field}[${index}]`, deviceId(device));
    seen.add(identity);
  }
}

function* deviceNameErrors(device: JsonObject, field: string): Generator<FieldError> {
  yield* driverNameErrors(stringAt(device, "driver"), `${field}.driver`);
  yield* poolNameErrors(stringAt(device, "pool"), `${field}.pool`);
  yield* nameErrors(stringAt(device, "device"), `${field}.device`, dnsLabelErrors);
}

function* shareErrors(device: JsonObject, field: string): Generator<FieldError> {
  const share = device["shareID"];
  if (typeof share === "string") yield* uuidErrors(share, `${field}.shareID`);
}

function* deviceStatusErrors(device: JsonObject, field: string, allocated: ReadonlySet<string>): Generator<FieldError> {
  yield* deviceNameErrors(device, field);
  yield* shareErrors(device, field);
  if (!allocated.has(identityOf(device)))
    yield invalidValue(field, deviceId(device), "must be an allocated device in the claim");
  const conditions = objectsAt(device, "conditions");
  if (conditions.length > CONDITIONS_MAX) yield tooMany(`${field}.conditions`, conditions.length, CONDITIONS_MAX);
  yield* conditionErrors(conditions, "lastTransitionTime", `${field}.conditions`);
  if (device["data"] !== undefined) yield* parametersErrors(device["data"], `${field}.data`);
  if (isJsonObject(device["networkData"])) yield* networkErrors(device["networkData"], `${field}.networkData`);
}

function* networkErrors(network: JsonObject, field: string): Generator<FieldError> {
  const limits = [
    ["interfaceName", INTERFACE_NAME_BYTES_MAX],
    ["hardwareAddress", HARDWARE_ADDRESS_BYTES_MAX],
  ] as const;
  for (const [key, max] of limits)
    if (Buffer.byteLength(stringAt(network, key)) > max) yield tooLong(`${field}.${key}`, max);
  const ips = stringsAt(network, "ips");
  yield* listErrors(ips, `${field}.ips`, { max: IPS_MAX, errors: interfaceAddressErrors });
  yield* uniquenessErrors(ips, `${field}.ips`, IPS_MAX);
}

/** As kubernetes IsValidInterfaceAddress: an address with a prefix length. */
function* interfaceAddressErrors(value: string, field: string): Generator<FieldError> {
  const parsed = parseLooseCidr(value);
  if (parsed === undefined) {
    const sentence = "must be a valid address in CIDR form, (e.g. 10.9.8.7/24 or 2001:db8::1/64)";
    yield invalidValue(field, value, sentence);
    return;
  }
  const { family, ip, prefixLength, isMapped } = parsed;
  const address = isMapped
    ? formatAddress({ family: "IPv4", value: ip & 0xffff_ffffn })
    : formatAddress({ family, value: ip });
  const canonical = `${address}/${isMapped && prefixLength > 32 ? prefixLength - 96 : prefixLength}`;
  if (canonical !== value) yield invalidValue(field, value, `must be in canonical form (${JSON.stringify(canonical)})`);
}

function* allocationErrors(allocation: JsonObject, names: ReadonlySet<string>): Generator<FieldError> {
  const field = "status.allocation";
  const devices = objectAt(allocation, "devices");
  yield* listErrors(objectsAt(devices, "results"), `${field}.devices.results`, {
    max: RESULTS_MAX,
    *errors(result, at) {
      yield* requestReferenceErrors(stringAt(result, "request"), `${at}.request`, names);
      yield* deviceNameErrors(result, at);
      yield* bindingErrors(result, at);
      yield* shareErrors(result, at);
    },
  });
  yield* listErrors(objectsAt(devices, "config"), `${field}.devices.config`, {
    max: CONFIG_MAX,
    *errors(config, at) {
      const source = stringAt(config, "source");
      if (source === "") yield required(`${at}.source`);
      else if (!CONFIG_SOURCES.includes(source)) yield unsupportedValue(`${at}.source`, source, CONFIG_SOURCES);
      yield* referenceListErrors(config, at, names);
      yield* configurationErrors(config, at);
    },
  });
  if (allocation["nodeSelector"] !== undefined)
    yield* nodeSelectorErrors(objectAt(allocation, "nodeSelector"), `${field}.nodeSelector`);
}
