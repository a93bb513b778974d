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
import { CSI_DRIVER, CSI_NODE, CSI_STORAGE_CAPACITY } from "./csi.ts";
import { gatesOf } from "../../catalog/release-gates.ts";
import type { ReleaseName } from "../../catalog/release.ts";

const METADATA = { name: "d.example.com" };

describe("a CSIDriver", () => {
  test("has a default for every field", () => {
    expect(prepared(CSI_DRIVER, { metadata: METADATA, spec: {} })["spec"]).toEqual({
      attachRequired: true,
      podInfoOnMount: false,
      storageCapacity: false,
      fsGroupPolicy: "ReadWriteOnceWithFSType",
      requiresRepublish: false,
      seLinuxMount: false,
      volumeLifecycleModes: ["Persistent"],
    });
  });

  test("drops the fields that its release does not support", () => {
    const spec = { nodeAllocatableUpdatePeriodSeconds: 5, serviceAccountTokenInSecrets: true };
    const kept = prepared(CSI_DRIVER, { metadata: METADATA, spec }, { ...CONTEXT, gates: gatesOf("1.34") })["spec"];
    expect(Object.keys(kept as JsonObject)).not.toContain("nodeAllocatableUpdatePeriodSeconds");
    expect(Object.keys(kept as JsonObject)).not.toContain("serviceAccountTokenInSecrets");
  });

  test.each<[string, JsonObject, readonly string[]]>([
    [
      "unknown policies and modes",
      { fsGroupPolicy: "Any", volumeLifecycleModes: ["Forever"] },
      [
        'spec.fsGroupPolicy: Unsupported value: "Any": supported values: "File", "None", "ReadWriteOnceWithFSType"',
        'spec.volumeLifecycleModes: Unsupported value: "Forever": supported values: "Persistent", "Ephemeral"',
      ],
    ],
    [
      "duplicate token audiences and expirations out of range",
      { tokenRequests: [{ audience: "a", expirationSeconds: 1 }, { audience: "a" }, { expirationSeconds: 2 ** 33 }] },
      [
        "spec.tokenRequests[0].expirationSeconds: Invalid value: 1: may not specify a duration less than 10 minutes",
        'spec.tokenRequests[1].audience: Duplicate value: "a"',
        "spec.tokenRequests[2].expirationSeconds: Invalid value: 8589934592: may not specify a duration larger than 2^32 seconds",
      ],
    ],
    [
      "a short update period, and token secrets without token requests",
      { nodeAllocatableUpdatePeriodSeconds: 5, serviceAccountTokenInSecrets: false },
      [
        "spec.nodeAllocatableUpdatePeriodSeconds: Invalid value: 5: must be greater than or equal to 10 seconds",
        "spec.serviceAccountTokenInSecrets: Invalid value: false: serviceAccountTokenInSecrets is set but no tokenRequests are specified",
      ],
    ],
  ])("rejects %s", (_what, spec, sentences) => {
    expect(createErrorsOf(CSI_DRIVER, { metadata: METADATA, spec })).toEqual(sentences);
  });

  test("cannot change attachRequired and volumeLifecycleModes", () => {
    const changed = { metadata: METADATA, spec: { attachRequired: false, volumeLifecycleModes: ["Ephemeral"] } };
    expect(updateErrorsOf(CSI_DRIVER, { metadata: METADATA, spec: {} }, changed)).toEqual([
      "spec.attachedRequired: Invalid value: false: field is immutable",
      'spec.volumeLifecycleModes: Invalid value: ["Ephemeral"]: field is immutable',
    ]);
  });

  test("has no generation after the create, and increments it when the spec changes", () => {
    const existing = prepared(CSI_DRIVER, { metadata: METADATA, spec: {} });
    const generation = (spec: JsonObject): unknown => {
      const driver = defaulted(CSI_DRIVER, { metadata: METADATA, spec });
      CSI_DRIVER.prepareUpdate?.(driver, existing, CONTEXT);
      return (driver["metadata"] as JsonObject)["generation"];
    };
    expect([generation({}), generation({ podInfoOnMount: true })]).toEqual([undefined, 1]);
  });

  test("causes a warning if tokens are not passed in secrets, on create only", () => {
    const driver = { metadata: METADATA, spec: { tokenRequests: [{ audience: "a" }] } };
    expect(warningsOf(CSI_DRIVER, driver)).toEqual([
      "spec.serviceAccountTokenInSecrets is unset; if supported by this CSI driver, set to true to prevent possible logging of tokens in volume attributes",
    ]);
    expect([...(CSI_DRIVER.warnings?.(driver, driver, CONTEXT) ?? [])]).toEqual([]);
  });
});

describe("a CSINode", () => {
  const driver = { name: "d", nodeID: "n" };

  test("defaults its drivers to null", () => {
    expect(defaulted(CSI_NODE, { metadata: { name: "n" } })).toEqual({
      metadata: { name: "n" },
      spec: { drivers: null },
    });
  });

  test("defaults the topology keys of a driver to null", () => {
    expect(defaulted(CSI_NODE, { metadata: { name: "n" }, spec: { drivers: [driver] } })["spec"]).toEqual({
      drivers: [{ ...driver, topologyKeys: null }],
    });
  });

  test("needs distinct drivers with a name and a node ID", () => {
    const drivers = [
      { ...driver, topologyKeys: ["a", "a", ""], allocatable: { count: -1 } },
      { name: "d", nodeID: "x".repeat(257) },
      {},
    ];
    const sentences = createErrorsOf(CSI_NODE, { metadata: { name: "n" }, spec: { drivers } });
    expect(sentences.map((sentence) => sentence.slice(0, 60))).toEqual(
      [
        "spec.drivers[0].allocatable.count: Invalid value: -1: must be",
        'spec.drivers[0]: Duplicate value: "a"',
        "spec.drivers[0]: Required value",
        'spec.drivers[0]: Invalid value: "": name part must be non-em',
        'spec.drivers[0]: Invalid value: "": name part must consist o',
        `spec.drivers[1].nodeID: Invalid value: "${"x".repeat(20)}`,
        'spec.drivers[1].name: Duplicate value: "d"',
        "spec.drivers[2].name: Required value",
        "spec.drivers[2].nodeID: Required value",
      ].map((sentence) => sentence.slice(0, 60)),
    );
  });

  test("cannot change a driver; newer releases accept a changed allocatable count", () => {
    const update = (after: JsonObject, release: ReleaseName): string[] =>
      updateErrorsOf(
        CSI_NODE,
        { metadata: { name: "n" }, spec: { drivers: [driver] } },
        { metadata: { name: "n" }, spec: { drivers: [after] } },
        { ...CONTEXT, gates: gatesOf(release) },
      );
    expect(update({ ...driver, allocatable: { count: 1 } }, "1.36")).toEqual([]);
    expect(update({ ...driver, allocatable: { count: 1 } }, "1.33")).toEqual([
      'spec.drivers: Invalid value: {"Name":"d","NodeID":"n","TopologyKeys":null,"Allocatable":{"Count":1}}: field is immutable',
    ]);
    expect(update({ ...driver, nodeID: "m" }, "1.36")).toEqual([
      'spec.drivers: Invalid value: {"Name":"d","NodeID":"m","TopologyKeys":null,"Allocatable":null}: field is immutable',
    ]);
  });
});

describe("a CSIStorageCapacity", () => {
  const capacity = { metadata: { name: "c" }, storageClassName: "s", nodeTopology: { matchLabels: { zone: "a" } } };

  test("needs a non-negative capacity and a storage class", () => {
    expect(createErrorsOf(CSI_STORAGE_CAPACITY, { ...capacity, storageClassName: "s", capacity: "-1" })).toEqual([
      'capacity: Invalid value: "-1": must be greater than or equal to 0',
    ]);
    expect(createErrorsOf(CSI_STORAGE_CAPACITY, { metadata: { name: "c" } })[0]).toMatch(
      /^storageClassName: Invalid value: ""/,
    );
  });

  test("cannot change its storage class and node topology", () => {
    const changed = { ...capacity, storageClassName: "t", nodeTopology: { matchLabels: { zone: "b" } }, capacity: "1" };
    expect(updateErrorsOf(CSI_STORAGE_CAPACITY, capacity, changed)).toEqual([
      'nodeTopology: Invalid value: {"matchLabels":{"zone":"b"}}: field is immutable',
      'storageClassName: Invalid value: "t": field is immutable',
    ]);
  });

  test("causes warnings about deprecated node labels", () => {
    const nodeTopology = {
      matchLabels: { "beta.kubernetes.io/os": "a" },
      matchExpressions: [{ key: "beta.kubernetes.io/arch", operator: "Exists" }],
    };
    expect(warningsOf(CSI_STORAGE_CAPACITY, { ...capacity, nodeTopology })).toEqual([
      'nodeTopology.matchExpressions[0].key: beta.kubernetes.io/arch is deprecated since v1.14; use "kubernetes.io/arch" instead',
      'nodeTopology.matchLabels.beta.kubernetes.io/os: deprecated since v1.14; use "kubernetes.io/os" instead',
    ]);
  });
});
