/**
 * Converts the kinds of resource.k8s.io (dynamic resource allocation), whose requests and devices are nested
 * differently.
 */
import { isJsonObject, type JsonObject } from "../../meta/json.ts";
import { omitMembers, updateItems, updateObject } from "./members.ts";
import type { KindShapes } from "./shapes.ts";

const GROUP = "resource.k8s.io";

/**
 * v1alpha2 is not listed, because its model is different and cannot be converted to later versions; no release decodes
 * v1alpha2 and a later version. Requests are flat in the older shape and nested in the newer one; devices are nested in
 * the older shape and flat in the newer one. Unknown fields are moved into and out of the nested part, because every
 * field added so far belongs to it.
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

/** Wraps each capacity in an object, because v1alpha3 has a plain quantity instead. */
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
