import { isJsonObject, type JsonObject } from "../../meta/json.ts";
import { omitMembers, updateItems, updateObject } from "./members.ts";
import type { KindShapes } from "./shapes.ts";

const GROUP = "resource.k8s.io";

/**
 * v1alpha2 of these kinds is a different model without a conversion to later versions; no release decodes both.
 * Requests and devices are flat in one shape and nested in the other. Members that no list names are moved with the
 * nested part, because every field added so far belongs to it.
 */
export const RESOURCE_SHAPES: readonly KindShapes[] = Object.freeze([
  { kinds: ["DeviceClass"], hub: versions("v1", "v1beta2", "v1beta1", "v1alpha3"), spokes: [] },
  { kinds: ["DeviceTaintRule"], hub: versions("v1", "v1beta2", "v1alpha3"), spokes: [] },
  {
    kinds: ["ResourceClaim"],
    hub: versions("v1", "v1beta2"),
    spokes: [{ versions: versions("v1beta1", "v1alpha3"), toHub: nestClaimRequests, fromHub: flattenClaimRequests }],
  },
  {
    kinds: ["ResourceClaimTemplate"],
    hub: versions("v1", "v1beta2"),
    spokes: [
      {
        versions: versions("v1beta1", "v1alpha3"),
        toHub: (template) => updateObject(template, "spec", nestClaimRequests),
        fromHub: (template) => updateObject(template, "spec", flattenClaimRequests),
      },
    ],
  },
  {
    kinds: ["ResourceSlice"],
    hub: versions("v1", "v1beta2"),
    spokes: [
      {
        versions: versions("v1beta1"),
        toHub: (slice) => reshapeDevices(slice, flattenDevice),
        fromHub: (slice) => reshapeDevices(slice, nestDevice),
      },
      {
        versions: versions("v1alpha3"),
        toHub: (slice) => reshapeDevices(slice, (device) => wrapCapacities(flattenDevice(device))),
        fromHub: (slice) => reshapeDevices(slice, (device) => nestDevice(unwrapCapacities(device))),
      },
    ],
  },
]);

function versions(...names: readonly string[]): readonly string[] {
  return names.map((name) => `${GROUP}/${name}`);
}

function nestClaimRequests(claim: JsonObject): JsonObject {
  return reshapeRequests(claim, nestRequest);
}

function flattenClaimRequests(claim: JsonObject): JsonObject {
  return reshapeRequests(claim, flattenRequest);
}

function reshapeRequests(claim: JsonObject, reshape: (request: JsonObject) => JsonObject): JsonObject {
  return updateObject(claim, "spec", (spec) =>
    updateObject(spec, "devices", (devices) => updateItems(devices, "requests", reshape)),
  );
}

const REQUEST_OWN_MEMBERS: readonly string[] = Object.freeze(["name", "firstAvailable"]);

function nestRequest(request: JsonObject): JsonObject {
  const own = Object.entries(request).filter(([key]) => REQUEST_OWN_MEMBERS.includes(key));
  const exactly = omitMembers(request, [...REQUEST_OWN_MEMBERS, "exactly"]);
  if (!Object.values(exactly).some(isSet)) return Object.fromEntries(own);
  return { ...Object.fromEntries(own), exactly };
}

function flattenRequest(request: JsonObject): JsonObject {
  const { exactly, ...own } = request;
  return isJsonObject(exactly) ? { ...omitMembers(exactly, REQUEST_OWN_MEMBERS), ...own } : own;
}

function isSet(value: unknown): boolean {
  return value !== undefined && value !== null && value !== "" && value !== 0;
}

function reshapeDevices(slice: JsonObject, reshape: (device: JsonObject) => JsonObject): JsonObject {
  return updateObject(slice, "spec", (spec) => updateItems(spec, "devices", reshape));
}

function flattenDevice(device: JsonObject): JsonObject {
  const { basic, ...own } = device;
  return isJsonObject(basic) ? { ...own, ...omitMembers(basic, ["name"]) } : own;
}

function nestDevice(device: JsonObject): JsonObject {
  const { name, ...basic } = device;
  return { name, basic };
}

/** In v1alpha3, a capacity is a plain quantity. */
function wrapCapacities(device: JsonObject): JsonObject {
  return mapCapacities(device, (capacity) => (isJsonObject(capacity) ? capacity : { value: capacity }));
}

function unwrapCapacities(device: JsonObject): JsonObject {
  return mapCapacities(device, (capacity) => (isJsonObject(capacity) ? capacity["value"] : capacity));
}

function mapCapacities(device: JsonObject, change: (capacity: unknown) => unknown): JsonObject {
  return updateObject(device, "capacity", (capacities) =>
    Object.fromEntries(Object.entries(capacities).map(([name, capacity]) => [name, change(capacity)])),
  );
}
