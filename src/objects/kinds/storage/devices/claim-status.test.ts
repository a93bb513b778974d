import { describe, expect, test } from "vitest";
import type { JsonObject } from "../../../../meta/json.ts";
import { CONTEXT, statusUpdateErrorsOf } from "../../../../../test/testing/objects/kinds/core/kind-errors.ts";
import { dropDeallocated } from "./claim-status.ts";
import { resourceClaimOf } from "./resource-claim.ts";

const CLAIM = resourceClaimOf("general");
const DEVICE = { driver: "d.example.com", pool: "p", device: "x" };
const ALLOCATION = { devices: { results: [{ request: "gpu", ...DEVICE }] } };

function claim(status: JsonObject, metadata: JsonObject = {}): JsonObject {
  const requests = [{ name: "gpu", exactly: { deviceClassName: "c", allocationMode: "ExactCount", count: 1 } }];
  return { metadata: { name: "c", ...metadata }, spec: { devices: { requests } }, status };
}

const statusErrorsOf = (status: JsonObject, before: JsonObject = {}): string[] =>
  statusUpdateErrorsOf(CLAIM, claim(before), claim(status));

describe("the allocation of a ResourceClaim", () => {
  test.each<[string, JsonObject, readonly string[]]>([
    ["is accepted if it is valid", { allocation: ALLOCATION, devices: [DEVICE] }, []],
    [
      "needs a request of the claim, a driver and a pool",
      { allocation: { devices: { results: [{ request: "other", driver: "", pool: "", device: "x" }] } } },
      [
        "status.allocation.devices.results[0].request: Invalid value: \"other\": must be the name of a request in the claim or the name of a request and a subrequest separated by '/'",
        "status.allocation.devices.results[0].driver: Required value",
        "status.allocation.devices.results[0].pool: Required value",
      ],
    ],
    [
      "needs a configuration with a known source",
      { allocation: { devices: { config: [{ source: "Me", opaque: { driver: "d", parameters: {} } }, {}] } } },
      [
        'status.allocation.devices.config[0].source: Unsupported value: "Me": supported values: "FromClaim", "FromClass"',
        "status.allocation.devices.config[1].source: Required value",
        "status.allocation.devices.config[1].opaque: Required value",
      ],
    ],
    [
      "must contain every device of the status, each once",
      { allocation: ALLOCATION, devices: [DEVICE, DEVICE, { ...DEVICE, device: "y" }] },
      [
        'status.devices[2]: Invalid value: {"Driver":"d.example.com","Pool":"p","Device":"y","ShareID":""}: must be an allocated device in the claim',
        'status.devices[1]: Duplicate value: {"Driver":"d.example.com","Pool":"p","Device":"x","ShareID":""}',
      ],
    ],
    [
      "needs valid share IDs",
      {
        allocation: {
          devices: {
            results: ["1", "A2345678-1234-1234-1234-1234567890ab"].map((shareID) => ({
              request: "gpu",
              ...DEVICE,
              shareID,
            })),
          },
        },
      },
      [
        'status.allocation.devices.results[0].shareID: Invalid value: "1": error validating uid: invalid UUID length: 1',
        'status.allocation.devices.results[1].shareID: Invalid value: "A2345678-1234-1234-1234-1234567890ab": uid must be in RFC 4122 normalized form, `xxxxxxxx-xxxx-xxxx-xxxx-xxxxxxxxxxxx` with lowercase hexadecimal characters',
      ],
    ],
    [
      "needs network addresses in canonical form",
      {
        allocation: ALLOCATION,
        devices: [{ ...DEVICE, networkData: { ips: ["x", "10.0.0.1/24", "2001:DB8::1/64"] } }],
      },
      [
        'status.devices[0].networkData.ips[0]: Invalid value: "x": must be a valid address in CIDR form, (e.g. 10.9.8.7/24 or 2001:db8::1/64)',
        'status.devices[0].networkData.ips[2]: Invalid value: "2001:DB8::1/64": must be in canonical form ("2001:db8::1/64")',
      ],
    ],
  ])("%s", (_what, status, sentences) => expect(statusErrorsOf(status)).toEqual(sentences));

  test("cannot be changed", () => {
    const sentences = statusErrorsOf({ allocation: { devices: {} } }, { allocation: ALLOCATION });
    expect(sentences).toEqual([
      'status.allocation: Invalid value: {"Devices":{"Results":null,"Config":null},"NodeSelector":null,"AllocationTimestamp":null}: field is immutable',
    ]);
    expect(statusErrorsOf({ allocation: ALLOCATION }, { allocation: ALLOCATION })).toEqual([]);
  });

  test("accepts no new entries in reservedFor while the claim is being deleted", () => {
    const reserved = (name: string): JsonObject => ({
      allocation: ALLOCATION,
      reservedFor: [{ resource: "pods", name, uid: name }],
    });
    const going = { deletionTimestamp: CONTEXT.time };
    expect(statusUpdateErrorsOf(CLAIM, claim(reserved("a"), going), claim(reserved("a"), going))).toEqual([]);
    expect(statusUpdateErrorsOf(CLAIM, claim(reserved("a"), going), claim(reserved("b"), going))).toEqual([
      "status.reservedFor: Forbidden: new entries may not be added while `deallocationRequested` or `deletionTimestamp` are set",
    ]);
  });

  test("takes the device statuses with it when it is removed", () => {
    const before = claim({ allocation: ALLOCATION, devices: [DEVICE] });
    const after = claim({ devices: [DEVICE] });
    dropDeallocated(after, before);
    expect(after["status"]).toEqual({});
  });
});
