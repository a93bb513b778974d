import { describe, expect, test } from "vitest";
import type { JsonObject } from "../../../meta/json.ts";
import {
  CONTEXT,
  defaulted,
  prepared,
  told,
  toldOfUpdate,
  warned,
} from "../../../../test/testing/objects/kinds/core/told.ts";
import { CSI_DRIVER, CSI_NODE, CSI_STORAGE_CAPACITY } from "./csi.ts";
import { gatesOf } from "../../catalogue/release-gates.ts";
import type { ReleaseName } from "../../catalogue/release.ts";

const METADATA = { name: "d.example.com" };

describe("a driver", () => {
  test("has an answer to every question", () => {
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

  test("is not asked what its release does not know", () => {
    const spec = { nodeAllocatableUpdatePeriodSeconds: 5, serviceAccountTokenInSecrets: true };
    const kept = prepared(CSI_DRIVER, { metadata: METADATA, spec }, { ...CONTEXT, gates: gatesOf("1.34") })["spec"];
    expect(Object.keys(kept as JsonObject)).not.toContain("nodeAllocatableUpdatePeriodSeconds");
    expect(Object.keys(kept as JsonObject)).not.toContain("serviceAccountTokenInSecrets");
  });

  test.each<[string, JsonObject, readonly string[]]>([
    [
      "policies and modes that there are",
      { fsGroupPolicy: "Any", volumeLifecycleModes: ["Forever"] },
      [
        'spec.fsGroupPolicy: Unsupported value: "Any": supported values: "File", "None", "ReadWriteOnceWithFSType"',
        'spec.volumeLifecycleModes: Unsupported value: "Forever": supported values: "Persistent", "Ephemeral"',
      ],
    ],
    [
      "tokens for one audience each, for a while",
      { tokenRequests: [{ audience: "a", expirationSeconds: 1 }, { audience: "a" }, { expirationSeconds: 2 ** 33 }] },
      [
        "spec.tokenRequests[0].expirationSeconds: Invalid value: 1: may not specify a duration less than 10 minutes",
        'spec.tokenRequests[1].audience: Duplicate value: "a"',
        "spec.tokenRequests[2].expirationSeconds: Invalid value: 8589934592: may not specify a duration larger than 2^32 seconds",
      ],
    ],
    [
      "periods that can be kept, and secrets for something",
      { nodeAllocatableUpdatePeriodSeconds: 5, serviceAccountTokenInSecrets: false },
      [
        "spec.nodeAllocatableUpdatePeriodSeconds: Invalid value: 5: must be greater than or equal to 10 seconds",
        "spec.serviceAccountTokenInSecrets: Invalid value: false: serviceAccountTokenInSecrets is set but no tokenRequests are specified",
      ],
    ],
  ])("has %s", (_what, spec, sentences) => {
    expect(told(CSI_DRIVER, { metadata: METADATA, spec })).toEqual(sentences);
  });

  test("attaches, and lives, as it has from the start", () => {
    const changed = { metadata: METADATA, spec: { attachRequired: false, volumeLifecycleModes: ["Ephemeral"] } };
    expect(toldOfUpdate(CSI_DRIVER, { metadata: METADATA, spec: {} }, changed)).toEqual([
      "spec.attachedRequired: Invalid value: false: field is immutable",
      'spec.volumeLifecycleModes: Invalid value: ["Ephemeral"]: field is immutable',
    ]);
  });

  test("counts its changes from the first one on", () => {
    const existing = prepared(CSI_DRIVER, { metadata: METADATA, spec: {} });
    const generation = (spec: JsonObject): unknown => {
      const driver = defaulted(CSI_DRIVER, { metadata: METADATA, spec });
      CSI_DRIVER.prepareUpdate?.(driver, existing, CONTEXT);
      return (driver["metadata"] as JsonObject)["generation"];
    };
    expect([generation({}), generation({ podInfoOnMount: true })]).toEqual([undefined, 1]);
  });

  test("is told where tokens are safer", () => {
    const driver = { metadata: METADATA, spec: { tokenRequests: [{ audience: "a" }] } };
    expect(warned(CSI_DRIVER, driver)).toEqual([
      "spec.serviceAccountTokenInSecrets is unset; if supported by this CSI driver, set to true to prevent possible logging of tokens in volume attributes",
    ]);
    expect([...(CSI_DRIVER.warnings?.(driver, driver, CONTEXT) ?? [])]).toEqual([]);
  });
});

describe("a node", () => {
  const driver = { name: "d", nodeID: "n" };

  test("always lists its drivers", () => {
    expect(defaulted(CSI_NODE, { metadata: { name: "n" } })).toEqual({
      metadata: { name: "n" },
      spec: { drivers: null },
    });
  });

  test("lists the labels of a driver's topology even when there are none", () => {
    expect(defaulted(CSI_NODE, { metadata: { name: "n" }, spec: { drivers: [driver] } })["spec"]).toEqual({
      drivers: [{ ...driver, topologyKeys: null }],
    });
  });

  test("has different drivers that know it", () => {
    const drivers = [
      { ...driver, topologyKeys: ["a", "a", ""], allocatable: { count: -1 } },
      { name: "d", nodeID: "x".repeat(257) },
      {},
    ];
    const sentences = told(CSI_NODE, { metadata: { name: "n" }, spec: { drivers } });
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

  test("is known to a driver as it was, but for what it can hold", () => {
    const update = (after: JsonObject, release: ReleaseName): string[] =>
      toldOfUpdate(
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

describe("a storage capacity", () => {
  const capacity = { metadata: { name: "c" }, storageClassName: "s", nodeTopology: { matchLabels: { zone: "a" } } };

  test("is not below zero, and of a class", () => {
    expect(told(CSI_STORAGE_CAPACITY, { ...capacity, storageClassName: "s", capacity: "-1" })).toEqual([
      'capacity: Invalid value: "-1": must be greater than or equal to 0',
    ]);
    expect(told(CSI_STORAGE_CAPACITY, { metadata: { name: "c" } })[0]).toMatch(/^storageClassName: Invalid value: ""/);
  });

  test("stays about the same storage", () => {
    const changed = { ...capacity, storageClassName: "t", nodeTopology: { matchLabels: { zone: "b" } }, capacity: "1" };
    expect(toldOfUpdate(CSI_STORAGE_CAPACITY, capacity, changed)).toEqual([
      'nodeTopology: Invalid value: {"matchLabels":{"zone":"b"}}: field is immutable',
      'storageClassName: Invalid value: "t": field is immutable',
    ]);
  });

  test("is warned about labels that are given up", () => {
    const nodeTopology = {
      matchLabels: { "beta.kubernetes.io/os": "a" },
      matchExpressions: [{ key: "beta.kubernetes.io/arch", operator: "Exists" }],
    };
    expect(warned(CSI_STORAGE_CAPACITY, { ...capacity, nodeTopology })).toEqual([
      'nodeTopology.matchExpressions[0].key: beta.kubernetes.io/arch is deprecated since v1.14; use "kubernetes.io/arch" instead',
      'nodeTopology.matchLabels.beta.kubernetes.io/os: deprecated since v1.14; use "kubernetes.io/os" instead',
    ]);
  });
});
