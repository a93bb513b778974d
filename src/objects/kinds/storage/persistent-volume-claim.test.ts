import { describe, expect, test } from "vitest";
import type { JsonObject } from "../../../meta/json.ts";
import {
  CONTEXT,
  defaulted,
  prepared,
  createErrorsOf,
  statusUpdateErrorsOf,
  updateErrorsOf,
  warningsOf,
} from "../../../../test/testing/objects/kinds/core/kind-errors.ts";
import type { KindContext } from "../kind.ts";
import { PERSISTENT_VOLUME_CLAIM } from "./persistent-volume-claim.ts";
import { gatesOf } from "../../catalog/release-gates.ts";

function claim(spec: JsonObject = {}, metadata: JsonObject = {}): JsonObject {
  const resources = { requests: { storage: "1Gi" } };
  return { metadata: { name: "c", ...metadata }, spec: { accessModes: ["ReadWriteOnce"], resources, ...spec } };
}

test("a new PersistentVolumeClaim is Pending and has the protection finalizer", () => {
  expect(prepared(PERSISTENT_VOLUME_CLAIM, claim({ resources: { requests: { storage: "1024Mi" } } }))).toEqual({
    metadata: { name: "c", finalizers: ["kubernetes.io/pvc-protection"] },
    spec: { accessModes: ["ReadWriteOnce"], resources: { requests: { storage: "1Gi" } }, volumeMode: "Filesystem" },
    status: { phase: "Pending" },
  });
});

describe("the data source of a PersistentVolumeClaim", () => {
  const snapshot = { apiGroup: "snapshot.storage.k8s.io", kind: "VolumeSnapshot", name: "s" };
  const other = { apiGroup: "example.com", kind: "Backup", name: "b" };

  test.each<[string, JsonObject, JsonObject]>([
    ["is copied to dataSourceRef", { dataSource: snapshot }, { dataSource: snapshot, dataSourceRef: snapshot }],
    ["may be of any kind in dataSourceRef", { dataSourceRef: other }, { dataSource: other, dataSourceRef: other }],
    [
      "may be a claim without an API group",
      { dataSource: { kind: "PersistentVolumeClaim", name: "a" } },
      Object.fromEntries(
        ["dataSource", "dataSourceRef"].map((key) => [
          key,
          { apiGroup: null, kind: "PersistentVolumeClaim", name: "a" },
        ]),
      ),
    ],
    ["is dropped from dataSource if its kind is not supported", { dataSource: other }, {}],
    ["is dropped if it is in another namespace", { dataSourceRef: { ...other, namespace: "n" } }, {}],
  ])("%s", (_what, given, kept) => {
    const spec = prepared(PERSISTENT_VOLUME_CLAIM, claim(given))["spec"] as JsonObject;
    const { dataSource, dataSourceRef } = spec;
    expect({ dataSource, dataSourceRef }).toEqual({ dataSource: undefined, dataSourceRef: undefined, ...kept });
  });
});

test.each<[string, JsonObject, readonly string[]]>([
  ["is accepted if it is valid", {}, []],
  [
    "needs access modes and a storage request",
    { accessModes: [], resources: {} },
    ["spec.accessModes: Required value: at least 1 access mode is required", "spec.resources[storage]: Required value"],
  ],
  [
    "needs a positive storage request",
    { resources: { requests: { storage: "-1" } } },
    ['spec.resources[storage]: Invalid value: "-1": must be greater than zero'],
  ],
  [
    "rejects unknown selector operators",
    { selector: { matchExpressions: [{ key: "a", operator: "Like" }] } },
    ['spec.selector.matchExpressions[0].operator: Invalid value: "Like": not a valid selector operator'],
  ],
  [
    "needs a complete data source",
    { dataSourceRef: { kind: "", name: "" } },
    [
      "spec.dataSource.name: Required value",
      "spec.dataSource.kind: Required value",
      "spec.dataSource: Invalid value: \"\": must be 'PersistentVolumeClaim' when referencing the default apiGroup",
      "spec.dataSourceRef.name: Required value",
      "spec.dataSourceRef.kind: Required value",
      "spec.dataSourceRef: Invalid value: \"\": must be 'PersistentVolumeClaim' when referencing the default apiGroup",
    ],
  ],
  [
    "needs equal data sources in both fields",
    {
      dataSource: { kind: "PersistentVolumeClaim", name: "a" },
      dataSourceRef: { kind: "PersistentVolumeClaim", name: "b" },
    },
    ["spec: Invalid value: {}: must match dataSourceRef"],
  ],
])("a new PersistentVolumeClaim %s", (_what, spec, sentences) => {
  expect(createErrorsOf(PERSISTENT_VOLUME_CLAIM, claim(spec))).toEqual(sentences);
});

describe("an update of a PersistentVolumeClaim", () => {
  const bound = { phase: "Bound", capacity: { storage: "1Gi" } };

  function toldOfBound(after: JsonObject, before: JsonObject = claim(), context: KindContext = CONTEXT): string[] {
    const [existing, object] = [before, after].map((one) =>
      defaulted(
        PERSISTENT_VOLUME_CLAIM,
        { ...one, status: { ...bound, ...(before["status"] as JsonObject) } },
        context,
      ),
    );
    const errors = PERSISTENT_VOLUME_CLAIM.updateErrors?.(object!, existing!, context) ?? [];
    return [...errors].map(({ field, message }) => `${field}: ${message}`);
  }

  test("that changes the spec is rejected with a diff", () => {
    const changed = claim({ accessModes: ["ReadOnlyMany"], storageClassName: "fast" });
    expect(updateErrorsOf(PERSISTENT_VOLUME_CLAIM, claim({ storageClassName: "slow" }), changed)).toEqual([
      `spec: Forbidden: spec is immutable after creation except resources.requests and volumeAttributesClassName for bound claims
@@ -1,6 +1,6 @@
 {
  "AccessModes": [
-  "ReadWriteOnce"
+  "ReadOnlyMany"
  ],
  "Selector": null,
  "Resources": {
@@ -10,7 +10,7 @@
   }
  },
  "VolumeName": "",
- "StorageClassName": "slow",
+ "StorageClassName": "fast",
  "VolumeMode": "Filesystem",
  "DataSource": null,
  "DataSourceRef": null,
`,
    ]);
  });

  test("may set the volume name and the storage class once", () => {
    expect(updateErrorsOf(PERSISTENT_VOLUME_CLAIM, claim(), claim({ volumeName: "v", storageClassName: "s" }))).toEqual(
      [],
    );
  });

  test("may move the storage class from the annotation to its field", () => {
    const annotations = { "volume.beta.kubernetes.io/storage-class": "s" };
    expect(
      updateErrorsOf(PERSISTENT_VOLUME_CLAIM, claim({}, { annotations }), claim({ storageClassName: "s" })),
    ).toEqual([]);
    expect(updateErrorsOf(PERSISTENT_VOLUME_CLAIM, claim({}, { annotations }), claim())).toEqual([
      'metadata.annotations.volume.beta.kubernetes.io/storage-class: Invalid value: "": field is immutable',
    ]);
  });

  test("may grow a bound claim, but not shrink it below its capacity", () => {
    const sized = (storage: string): JsonObject => claim({ resources: { requests: { storage } } });
    expect(toldOfBound(sized("2Gi"))).toEqual([]);
    expect(toldOfBound(sized("1500Mi"), sized("2Gi"))).toEqual([]);
    expect(toldOfBound(sized("512Mi"))).toEqual([
      "spec.resources.requests.storage: Forbidden: field can not be less than status.capacity",
    ]);
    expect(toldOfBound(sized("1500Mi"), sized("2Gi"), { ...CONTEXT, gates: gatesOf("1.31") })).toEqual([
      "spec.resources.requests.storage: Forbidden: field can not be less than previous value",
    ]);
  });

  test("cannot remove the attributes class that its volume has", () => {
    const before = { ...claim({ volumeAttributesClassName: "a" }), status: { currentVolumeAttributesClassName: "a" } };
    expect(toldOfBound(claim({ volumeAttributesClassName: "b" }), before)).toEqual([]);
    expect(toldOfBound(claim(), before)).toEqual([
      "spec.volumeAttributesClassName: Forbidden: update to nil is forbidden when status.currentVolumeAttributesClassName is not nil",
    ]);
    expect(toldOfBound(claim({ volumeAttributesClassName: "" }), before)).toEqual([
      "spec.volumeAttributesClassName: Forbidden: update to empty string is forbidden when status.currentVolumeAttributesClassName is not nil",
    ]);
  });

  test("that changes the volume mode is rejected with two errors", () => {
    expect(updateErrorsOf(PERSISTENT_VOLUME_CLAIM, claim(), claim({ volumeMode: "Block" }))).toEqual([
      expect.stringMatching(/^spec: Forbidden: spec is immutable after creation/),
      'volumeMode: Invalid value: "Block": field is immutable',
    ]);
  });
});

test("the status of a PersistentVolumeClaim is validated", () => {
  const status = {
    capacity: { storage: "-1" },
    allocatedResourceStatuses: { storage: "Growing", cpu: "NodeResizePending" },
    allocatedResources: { "a b": "1", storage: "-1" },
  };
  expect(
    statusUpdateErrorsOf(PERSISTENT_VOLUME_CLAIM, claim(), { ...claim(), status }).map((line) => line.slice(0, 90)),
  ).toEqual([
    "status.capacity[storage]: Invalid value: -1: must be a valid resource quantity",
    'status.allocatedResourceStatuses: Unsupported value: "cpu": supported values: "storage"',
    'status.allocatedResourceStatuses: Unsupported value: "storage": supported values: "Control',
    'status.allocatedResources: Invalid value: "a b": name part must consist of alphanumeric ch',
    "status.allocatedResources[storage]: Invalid value: -1: must be a valid resource quantity",
  ]);
});

test("the status of a PersistentVolumeClaim has the fields that Go always writes", () => {
  const status = { conditions: [{ type: "Resizing" }], modifyVolumeStatus: {} };
  expect(defaulted(PERSISTENT_VOLUME_CLAIM, { ...claim(), status })["status"]).toEqual({
    phase: "Pending",
    conditions: [{ type: "Resizing", status: "", lastProbeTime: null, lastTransitionTime: null }],
    modifyVolumeStatus: { status: "" },
  });
});

test("negative whole amounts cause no warning about fractional bytes", () => {
  expect(warningsOf(PERSISTENT_VOLUME_CLAIM, claim({ resources: { requests: { storage: "-1Gi" } } }))).toEqual([]);
});

test("fractional bytes and the storage class annotation cause warnings", () => {
  const annotations = { "volume.beta.kubernetes.io/storage-class": "s" };
  const resources = { requests: { storage: "1500m" }, limits: { storage: "1" } };
  expect(warningsOf(PERSISTENT_VOLUME_CLAIM, claim({ resources }, { annotations }))).toEqual([
    'metadata.annotations[volume.beta.kubernetes.io/storage-class]: deprecated since v1.8; use "storageClassName" attribute instead',
    'spec.resources.requests[storage]: fractional byte value "1500m" is invalid, must be an integer',
  ]);
});
