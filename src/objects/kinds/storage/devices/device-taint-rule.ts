/** Defaults of DeviceTaintRules and ResourcePoolStatusRequests; no validation rule of these kinds is implemented. */
import { ownPointer, ownStruct, setMissing } from "../../defaults.ts";
import type { Kind } from "../../kind.ts";

const POOLS_MAX = 100;

export const DEVICE_TAINT_RULE: Kind = {
  setDefaults(rule, { time }) {
    const taint = ownPointer(ownStruct(rule, "spec"), "taint");
    ownStruct(rule, "status");
    // As kubernetes: a taint that is stored without a time gets the time at which it is read.
    if (taint !== undefined && taint["timeAdded"] === undefined) taint["timeAdded"] = time;
  },
  prepareCreate(rule) {
    rule["status"] = {};
  },
  keepsMetadataInStatus: true,
};

export const RESOURCE_POOL_STATUS_REQUEST: Kind = {
  setDefaults: (request) => setMissing(ownStruct(request, "spec"), { limit: POOLS_MAX }),
  keepsMetadataInStatus: true,
};
