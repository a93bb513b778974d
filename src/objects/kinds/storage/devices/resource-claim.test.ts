import { describe, expect, test } from "vitest";
import type { JsonObject } from "../../../../meta/json.ts";
import {
  CONTEXT,
  defaulted,
  prepared,
  createErrorsOf,
  statusUpdateErrorsOf,
  updateErrorsOf,
} from "../../../../../test/testing/objects/kinds/core/kind-errors.ts";
import { resourceClaimOf, resourceClaimTemplateOf } from "./resource-claim.ts";

const CLAIM = resourceClaimOf("general");
const FLAT_CLAIM = resourceClaimOf("flat");
const GPU = { name: "gpu", exactly: { deviceClassName: "gpu.example.com" } };

function claim(devices: JsonObject, status?: JsonObject): JsonObject {
  return { metadata: { name: "c" }, spec: { devices }, ...(status === undefined ? {} : { status }) };
}

describe("a device request", () => {
  test("defaults to one device", () => {
    const exactly = { deviceClassName: "gpu.example.com", allocationMode: "ExactCount", count: 1 };
    expect(prepared(CLAIM, claim({ requests: [GPU] }))).toEqual({
      ...claim({ requests: [{ name: "gpu", exactly }] }),
      status: {},
    });
    expect(defaulted(FLAT_CLAIM, claim({ requests: [{ name: "gpu", deviceClassName: "gpu.example.com" }] }))).toEqual({
      ...claim({ requests: [{ name: "gpu", ...exactly }] }),
      status: {},
    });
  });

  test("for all devices has no count", () => {
    const all = { name: "a", exactly: { deviceClassName: "c", allocationMode: "All" } };
    expect(prepared(CLAIM, claim({ requests: [all] }))["spec"]).toEqual({ devices: { requests: [all] } });
  });
});

describe("a ResourceClaim", () => {
  test.each<[string, JsonObject, readonly string[]]>([
    ["is accepted if it is valid", { requests: [GPU] }, []],
    [
      "needs exactly one of exactly and firstAvailable in a request",
      { requests: [{ name: "a" }, { ...GPU, firstAvailable: [{ name: "x", deviceClassName: "c" }] }] },
      [
        "spec.devices.requests[0]: Required value: exactly one of `exactly` or `firstAvailable` is required",
        "spec.devices.requests[1]: Invalid value: null: exactly one of `exactly` or `firstAvailable` is required, but multiple fields are set",
      ],
    ],
    [
      "needs a device class and valid selectors",
      { requests: [{ name: "a", exactly: { allocationMode: "All", count: 2, selectors: [{}] } }] },
      [
        "spec.devices.requests[0].exactly.deviceClassName: Required value",
        "spec.devices.requests[0].exactly.selectors[0].cel: Required value",
        "spec.devices.requests[0].exactly.count: Invalid value: 2: must not be specified when allocationMode is 'All'",
      ],
    ],
    ["rejects duplicate request names", { requests: [GPU, GPU] }, ['spec.devices.requests[1]: Duplicate value: "gpu"']],
    [
      "limits the number of requests",
      { requests: Array.from({ length: 33 }, (_, index) => ({ ...GPU, name: `r${index}` })) },
      ["spec.devices.requests: Too many: 33: must have at most 32 items"],
    ],
    [
      "needs constraints on its own requests with a qualified attribute",
      { requests: [GPU], constraints: [{ requests: ["other"], matchAttribute: "model" }, {}] },
      [
        "spec.devices.constraints[0].requests[0]: Invalid value: \"other\": must be the name of a request in the claim or the name of a request and a subrequest separated by '/'",
        'spec.devices.constraints[0].matchAttribute: Invalid value: "model": a fully qualified name must be a domain and a name separated by a slash',
        'spec.devices.constraints[1]: Required value: exactly one of "matchAttribute" or "distinctAttribute" is required, but multiple fields are set',
      ],
    ],
    [
      "needs valid opaque parameters",
      { requests: [GPU], config: [{}, { opaque: { driver: "d", parameters: [] } }] },
      [
        "spec.devices.config[0].opaque: Required value",
        'spec.devices.config[1].opaque.parameters: Invalid value: "<value omitted>": must be a valid JSON object',
      ],
    ],
  ])("%s", (_what, devices, sentences) => {
    expect(createErrorsOf(CLAIM, claim(devices))).toEqual(sentences);
  });

  test("in v1beta1 is validated by the same rules", () => {
    expect(createErrorsOf(FLAT_CLAIM, claim({ requests: [{ name: "a", deviceClassName: "c", count: -1 }] }))).toEqual([
      "spec.devices.requests[0].exactly.count: Invalid value: -1: must be greater than zero",
    ]);
  });

  test("has an immutable spec", () => {
    const after = claim({ requests: [{ name: "gpu", exactly: { deviceClassName: "other" } }] });
    expect(updateErrorsOf(CLAIM, claim({ requests: [GPU] }), after)).toEqual([
      'spec: Invalid value: {"Devices":{"Requests":[{"Name":"gpu","Exactly":{"DeviceClassName":"other","Selectors":null,"AllocationMode":"ExactCount","Count":1,"AdminAccess":null,"Tolerations":null,"Capacity":null},"FirstAvailable":null}],"Constraints":null,"Config":null}}: field is immutable',
    ]);
    expect(updateErrorsOf(CLAIM, claim({ requests: [GPU] }), claim({ requests: [GPU], config: [] }))).toEqual([]);
  });

  test("can be reserved for consumers only once it is allocated", () => {
    const pod = { resource: "pods", name: "p", uid: "1" };
    expect(statusUpdateErrorsOf(CLAIM, claim({}), claim({}, { reservedFor: [pod, pod, {}] }))).toEqual([
      "status.reservedFor[2].resource: Required value",
      "status.reservedFor[2].name: Required value",
      "status.reservedFor[2].uid: Required value",
      'status.reservedFor[1]: Duplicate value: "1"',
      "status.reservedFor: Forbidden: may not be specified when `allocated` is not set",
    ]);
  });
});

test("a ResourceClaimTemplate defaults its metadata and has an immutable spec", () => {
  const TEMPLATE = resourceClaimTemplateOf("general");
  const template = (labels?: JsonObject): JsonObject => ({
    metadata: { name: "t" },
    spec: { ...(labels === undefined ? {} : { metadata: { labels } }), spec: { devices: { requests: [GPU] } } },
  });
  expect(defaulted(TEMPLATE, template(), CONTEXT)["spec"]).toMatchObject({ metadata: {} });
  const [sentence] = updateErrorsOf(TEMPLATE, template(), template({ a: "b" }));
  expect(sentence).toMatch(/^spec: Invalid value: \{"labels":\{"a":"b"\},"Spec":\{"Devices":/);
});
