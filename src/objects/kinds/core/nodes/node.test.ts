import { describe, expect, test } from "vitest";
import {
  defaulted,
  prepared,
  createErrorsOf,
  statusUpdateErrorsOf,
  updateErrorsOf,
  warningsOf,
} from "../../../../../test/testing/objects/kinds/core/kind-errors.ts";
import { NODE } from "./node.ts";

describe("a new Node", () => {
  test.each([
    [{ podCIDR: "10.0.0.0/24" }, ["10.0.0.0/24"]],
    [{ podCIDRs: ["10.0.0.0/24", "fd00::/64"] }, ["10.0.0.0/24", "fd00::/64"]],
    [{ podCIDR: "10.1.0.0/24", podCIDRs: ["10.0.0.0/24", "fd00::/64"] }, ["10.1.0.0/24"]],
  ])("with %j has the same CIDRs in podCIDR and podCIDRs", (spec, podCIDRs) => {
    expect(defaulted(NODE, { spec })["spec"]).toEqual({ podCIDR: podCIDRs[0], podCIDRs });
  });

  test("defaults allocatable to its capacity", () => {
    const { status } = defaulted(NODE, { status: { capacity: { cpu: "4000m" }, nodeInfo: { bootID: "b" } } });
    expect(status).toMatchObject({
      capacity: { cpu: "4" },
      allocatable: { cpu: "4" },
      daemonEndpoints: { kubeletEndpoint: { Port: 0 } },
      nodeInfo: { bootID: "b", kubeletVersion: "" },
    });
  });

  test("drops its configSource", () => {
    expect(prepared(NODE, { spec: { configSource: { configMap: {} } } })["spec"]).toEqual({});
  });

  test("rejects invalid and duplicate taints, and two CIDRs of one IP family", () => {
    const taints = [
      { key: "a", effect: "NoExecute" },
      { key: "a", effect: "NoExecute", value: "!" },
      { key: "b", effect: "X" },
    ];
    expect(createErrorsOf(NODE, { spec: { taints, podCIDRs: ["10.0.0.0/24", "10.0.1.0/24"] } })).toEqual([
      `metadata.taints[1].value: Invalid value: "!": a valid label must be an empty string or consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric character (e.g. 'MyValue',  or 'my_value',  or '12345', regex used for validation is '(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])?')`,
      'metadata.taints[1]: Duplicate value: {"Key":"a","Value":"!","Effect":"NoExecute","TimeAdded":null}: taints must be unique by key and effect pair',
      'metadata.taints[2].effect: Unsupported value: "X": supported values: "NoSchedule", "PreferNoSchedule", "NoExecute"',
      'spec.podCIDRs: Invalid value: ["10.0.0.0/24","10.0.1.0/24"]: may specify no more than one CIDR for each IP family',
    ]);
  });

  test("causes warnings about deprecated fields and ambiguous CIDRs", () => {
    expect(warningsOf(NODE, { spec: { externalID: "x", podCIDR: "10.0.0.1/24" } })).toEqual([
      "spec.externalID: this field is deprecated, and is unused by Kubernetes",
      'spec.podCIDRs[0]: CIDR value "10.0.0.1/24" is ambiguous in this context (should be "10.0.0.0/24" or "10.0.0.1/32"?)',
    ]);
  });
});

describe("an existing Node", () => {
  test("cannot change its CIDRs and provider ID once they are set", () => {
    const before = { spec: { podCIDR: "10.0.0.0/24", providerID: "p" } };
    expect(updateErrorsOf(NODE, { spec: {} }, before)).toEqual([]);
    expect(updateErrorsOf(NODE, before, { spec: { podCIDR: "10.0.1.0/24", externalID: "e" } })).toEqual([
      'spec.podCIDRs: Forbidden: node updates may not change podCIDR except from "" to valid',
      'spec.providerID: Forbidden: node updates may not change providerID except from "" to valid',
      "spec.externalID: Forbidden: may not be updated",
    ]);
  });

  test("rejects duplicate addresses, fractional counts and unsorted features", () => {
    const address = { type: "InternalIP", address: "10.0.0.1" };
    const status = {
      addresses: [address, address],
      capacity: { pods: "1.5" },
      declaredFeatures: ["B", "A", "A", "a"],
    };
    expect(statusUpdateErrorsOf(NODE, {}, { status })).toEqual([
      'status.capacity.pods: Invalid value: "1500m": must be an integer',
      'status.allocatable.pods: Invalid value: "1500m": must be an integer',
      'status.declaredFeatures[1]: Invalid value: "A": list must be sorted alphabetically',
      'status.declaredFeatures[2]: Duplicate value: "A"',
      `status.declaredFeatures[3]: Invalid value: "a": invalid feature name "a": must start with an UpperCamelCase segment, with subsequent segments separated by '/' (e.g., MyFeature or MyFeature/mySubFeature), and contain only alphanumeric characters and slashes`,
      'status.addresses[1]: Duplicate value: {"Type":"InternalIP","Address":"10.0.0.1"}',
    ]);
  });

  test("needs a complete status.config if the stored object already has one", () => {
    const config = { active: { configMap: { name: "N", namespace: "n" } }, assigned: {} };
    expect(statusUpdateErrorsOf(NODE, { status: { config: {} } }, { status: { config } })).toEqual([
      'status.config.assigned: Invalid value: {"ConfigMap":null}: exactly one reference subfield must be non-nil',
      "status.config.active.configMap.uid: Required value",
      "status.config.active.configMap.resourceVersion: Required value",
      expect.stringMatching(/^status\.config\.active\.configMap\.name: Invalid value: "N": a lowercase RFC 1123/),
      "status.config.active.configMap.kubeletConfigKey: Required value",
    ]);
    expect(statusUpdateErrorsOf(NODE, {}, { status: { config } })).toEqual([]);
  });
});
