import { expect, test } from "vitest";
import type { JsonObject } from "../../meta/json.ts";
import { cellOf, rowOf, secondsAgo } from "../../../test/testing/objects/table/rows.ts";

test("a volume shows its size, modes, claim and class", () => {
  const object: JsonObject = {
    spec: {
      capacity: { storage: "1024Mi" },
      accessModes: ["ReadWriteOncePod", "ReadWriteMany", "ReadOnlyMany", "ReadWriteOnce", "ReadWriteOnce"],
      persistentVolumeReclaimPolicy: "Retain",
      claimRef: { namespace: "ns", name: "data" },
      storageClassName: "fast",
      volumeAttributesClassName: "gold",
      volumeMode: "Block",
    },
    status: { phase: "Failed", reason: "Broken" },
  };
  const common = ["x", "1Gi", "RWO,ROX,RWX,RWOP", "Retain", "Failed", "ns/data", "fast"];
  expect(rowOf("/PersistentVolume", object)).toEqual([...common, "gold", "Broken", "60m", "Block"]);
  expect(rowOf("/PersistentVolume", object, "1.28")).toEqual([...common, "Broken", "60m", "Block"]);
  expect(rowOf("/PersistentVolume", {})).toEqual(["x", "0", "", "", "", "", "", "<unset>", "", "60m", "<unset>"]);
});

test("a bound claim shows its volume and capacity", () => {
  const spec = {
    storageClassName: "fast",
    accessModes: ["ReadWriteOnce"],
    resources: { requests: { storage: "5Gi" } },
  };
  expect(rowOf("/PersistentVolumeClaim", { spec, status: { phase: "Pending" } })).toEqual([
    ...["x", "Pending", "", "", "", "fast", "<unset>", "60m", "<unset>"],
  ]);
  const status = { phase: "Bound", accessModes: ["ReadWriteOnce"], capacity: { storage: "10Gi" } };
  const bound = { spec: { ...spec, volumeName: "pv-1", volumeMode: "Filesystem" }, status };
  expect(rowOf("/PersistentVolumeClaim", bound)).toEqual([
    ...["x", "Bound", "pv-1", "10Gi", "RWO", "fast", "<unset>", "60m", "Filesystem"],
  ]);
});

test("volumes and claims that are being deleted show Terminating, and the class from the old annotation", () => {
  const metadata = {
    deletionTimestamp: secondsAgo(1),
    annotations: { "volume.beta.kubernetes.io/storage-class": "old" },
  };
  for (const key of ["/PersistentVolume", "/PersistentVolumeClaim"]) {
    const object = { metadata, spec: { storageClassName: "new" }, status: { phase: "Bound" } };
    expect(cellOf(key, "Status", object)).toBe("Terminating");
    expect(cellOf(key, "StorageClass", object)).toBe("old");
  }
});

test.each(["storageclass.kubernetes.io/is-default-class", "storageclass.beta.kubernetes.io/is-default-class"])(
  "a storage class with the annotation %s is the default",
  (annotation) => {
    const object = { metadata: { annotations: { [annotation]: "true" } }, provisioner: "example.com/p" };
    expect(rowOf("storage.k8s.io/StorageClass", object)).toEqual([
      ...["x (default)", "example.com/p", "Delete", "Immediate", false, "60m"],
    ]);
  },
);

test("a storage class shows its settings", () => {
  const object = {
    provisioner: "p",
    reclaimPolicy: "Retain",
    volumeBindingMode: "WaitForFirstConsumer",
    allowVolumeExpansion: true,
  };
  expect(rowOf("storage.k8s.io/StorageClass", object)).toEqual([
    "x",
    "p",
    "Retain",
    "WaitForFirstConsumer",
    true,
    "60m",
  ]);
});

test("CSI drivers, CSI nodes and volume attachments show their settings", () => {
  const spec = {
    attachRequired: false,
    podInfoOnMount: true,
    storageCapacity: true,
    tokenRequests: [{ audience: "a" }, { audience: "b" }],
    requiresRepublish: true,
    volumeLifecycleModes: ["Persistent", "Ephemeral"],
  };
  expect(rowOf("storage.k8s.io/CSIDriver", { spec })).toEqual([
    ...["x", false, true, true, "a,b", true, "Persistent,Ephemeral", "60m"],
  ]);
  expect(rowOf("storage.k8s.io/CSIDriver", {})).toEqual(["x", true, false, false, "<unset>", false, "<none>", "60m"]);
  expect(rowOf("storage.k8s.io/CSINode", { spec: { drivers: [{}, {}] } })).toEqual(["x", 2, "60m"]);
  expect(rowOf("storage.k8s.io/VolumeAttributesClass", { driverName: "d" })).toEqual(["x", "d", "60m"]);
  const attachment = {
    spec: { attacher: "d", nodeName: "n", source: { persistentVolumeName: "pv" } },
    status: { attached: true },
  };
  expect(rowOf("storage.k8s.io/VolumeAttachment", attachment)).toEqual(["x", "d", "pv", "n", true, "60m"]);
});

test("a storage capacity has the default columns", () => {
  const metadata = { creationTimestamp: "2026-03-10T13:00:00+02:00" };
  expect(rowOf("storage.k8s.io/CSIStorageCapacity", { metadata, capacity: "1Gi" })).toEqual([
    "x",
    "2026-03-10T11:00:00Z",
  ]);
});
