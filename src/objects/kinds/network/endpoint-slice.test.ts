import { describe, expect, test } from "vitest";
import type { JsonObject } from "../../../meta/json.ts";
import {
  CONTEXT,
  defaulted,
  prepared,
  createErrorsOf,
  updateErrorsOf,
  warningsOf,
} from "../../../../test/testing/objects/kinds/core/kind-errors.ts";
import { ENDPOINT_SLICE } from "./endpoint-slice.ts";

const slice = (members: JsonObject): JsonObject => ({ addressType: "IPv4", ...members });

describe("an EndpointSlice", () => {
  test("defaults port names, protocols and endpoint conditions", () => {
    expect(
      defaulted(ENDPOINT_SLICE, slice({ endpoints: [{ addresses: ["10.0.0.1"] }], ports: [{ port: 80 }] })),
    ).toEqual(
      slice({
        endpoints: [{ addresses: ["10.0.0.1"], conditions: {} }],
        ports: [{ name: "", port: 80, protocol: "TCP" }],
      }),
    );
    expect(defaulted(ENDPOINT_SLICE, slice({}))).toEqual(slice({ endpoints: null, ports: null }));
  });

  test("drops deprecatedTopology in v1, but keeps the node name of a stored deprecatedTopology", () => {
    const topology = (node: string): JsonObject => ({ "kubernetes.io/hostname": node });
    const endpoint = { addresses: ["10.0.0.1"], deprecatedTopology: topology("n") };
    expect(prepared(ENDPOINT_SLICE, slice({ endpoints: [endpoint] }))["endpoints"]).toEqual([
      { addresses: ["10.0.0.1"], conditions: {} },
    ]);
    const existing = defaulted(ENDPOINT_SLICE, slice({ endpoints: [endpoint] }));
    const next = defaulted(ENDPOINT_SLICE, slice({ endpoints: [{ ...endpoint, addresses: ["10.0.0.2"] }] }));
    ENDPOINT_SLICE.prepareUpdate!(next, existing, CONTEXT);
    expect(next["endpoints"]).toEqual([{ addresses: ["10.0.0.2"], conditions: {}, nodeName: "n" }]);
  });

  test.each<[string, JsonObject, number]>([
    ["labels", { metadata: { labels: { a: "1" } } }, 6],
    ["ports", { ports: [{ port: 1 }] }, 6],
    ["annotations", { metadata: { annotations: { a: "1" } } }, 5],
  ])("with generation 5 and changed %s (%j) gets generation %i", (_what, change, generation) => {
    const existing = defaulted(ENDPOINT_SLICE, slice({ metadata: { generation: 5 } }));
    const metadata = { generation: 5, ...(change["metadata"] as JsonObject | undefined) };
    const next = defaulted(ENDPOINT_SLICE, slice({ ...change, metadata }));
    ENDPOINT_SLICE.prepareUpdate!(next, existing, CONTEXT);
    expect(next["metadata"]).toHaveProperty("generation", generation);
  });

  test.each<[string, string[], string[]]>([
    ["IPv4", ["10.0.0.1"], []],
    ["IPv4", [], ["endpoints[0].addresses: Required value: must contain at least 1 address"]],
    ["IPv4", ["fd00::1"], ['endpoints[0].addresses: Invalid value: "fd00::1": must be an IPv4 address']],
    [
      "IPv6",
      ["FD00::1"],
      ['endpoints[0].addresses[0]: Invalid value: "FD00::1": must be in canonical form ("fd00::1")'],
    ],
    [
      "IPv6",
      ["::1"],
      ['endpoints[0].addresses[0]: Invalid value: "::1": may not be in the loopback range (127.0.0.0/8, ::1/128)'],
    ],
    [
      "FQDN",
      ["a"],
      [
        'endpoints[0].addresses[0]: Invalid value: "a": should be a domain with at least two segments separated by dots',
      ],
    ],
    ["", ["x"], ["addressType: Required value"]],
    ["X", ["x"], ['addressType: Unsupported value: "X": supported values: "FQDN", "IPv4", "IPv6"']],
  ])("of type %s with the addresses %j has the expected errors", (addressType, addresses, expected) => {
    expect(createErrorsOf(ENDPOINT_SLICE, { addressType, endpoints: [{ addresses }] })).toEqual(expected);
  });

  test("limits the number of addresses, endpoints and ports", () => {
    const endpoint = { addresses: Array.from({ length: 101 }, (_, index) => `10.0.0.${index + 1}`) };
    expect(createErrorsOf(ENDPOINT_SLICE, slice({ endpoints: [endpoint] }))).toEqual([
      "endpoints[0].addresses: Too many: 101: must have at most 100 items",
    ]);
    expect(createErrorsOf(ENDPOINT_SLICE, slice({ endpoints: Array.from({ length: 1001 }, () => ({})) }))).toEqual([
      "endpoints: Too many: 1001: must have at most 1000 items",
    ]);
    expect(createErrorsOf(ENDPOINT_SLICE, slice({ ports: Array.from({ length: 20_001 }, () => ({})) }))).toEqual([
      "ports: Too many: 20001: must have at most 20000 items",
    ]);
  });

  test("rejects duplicate ports and hints", () => {
    const forZones = [{ name: "z" }, { name: "z" }];
    const forNodes = Array.from({ length: 9 }, (_, index) => ({ name: `n${index}` }));
    const endpoints = [{ addresses: ["10.0.0.1"], hostname: "a.b", hints: { forZones, forNodes } }];
    const ports = [{ name: "a", protocol: "X" }, { name: "a" }];
    expect(createErrorsOf(ENDPOINT_SLICE, slice({ endpoints, ports }))).toEqual([
      'ports[0].protocol: Unsupported value: "X": supported values: "SCTP", "TCP", "UDP"',
      'ports[1].name: Duplicate value: "a"',
      'endpoints[0].hostname: Invalid value: "a.b": must not contain dots',
      'endpoints[0].hints.forZones[1].name: Duplicate value: "z"',
      "endpoints[0].hints.forNodes: Too many: 9: must have at most 8 items",
    ]);
  });

  test("cannot change its address type, and unchanged endpoints are not validated again", () => {
    const old = slice({ endpoints: [{ addresses: ["x"] }] });
    expect(updateErrorsOf(ENDPOINT_SLICE, old, old)).toEqual([]);
    expect(updateErrorsOf(ENDPOINT_SLICE, old, { ...old, addressType: "IPv6" })).toEqual([
      'addressType: Invalid value: "IPv6": field is immutable',
    ]);
  });

  test("causes warnings about non-standard addresses, unless a Kubernetes controller manages the slice", () => {
    const odd = { addressType: "FQDN", endpoints: [{ addresses: ["010.0.0.1"] }] };
    expect(warningsOf(ENDPOINT_SLICE, odd)).toEqual([
      "spec.addressType: FQDN endpoints are deprecated",
      'endpoints[0].addresses[0]: non-standard IP address "010.0.0.1" is invalid: use "10.0.0.1"',
    ]);
    const labels = { "endpointslice.kubernetes.io/managed-by": "endpointslice-controller.k8s.io" };
    expect(warningsOf(ENDPOINT_SLICE, { ...odd, addressType: "IPv4", metadata: { labels } })).toEqual([]);
  });
});
