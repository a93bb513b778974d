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
import { PERSISTENT_VOLUME } from "./persistent-volume.ts";

const SUBDOMAIN =
  "a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or '.', and must start and end with an alphanumeric character (e.g. 'example.com', regex used for validation is '[a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*')";

function volume(spec: JsonObject = {}, metadata: JsonObject = {}): JsonObject {
  const needed = { accessModes: ["ReadWriteOnce"], capacity: { storage: "1Gi" } };
  return { metadata: { name: "v", ...metadata }, spec: { ...needed, hostPath: { path: "/data" }, ...spec } };
}

describe("a minimal PersistentVolume", () => {
  test("is Pending, retains its data and has the protection finalizer", () => {
    expect(prepared(PERSISTENT_VOLUME, volume())).toEqual({
      metadata: { name: "v", finalizers: ["kubernetes.io/pv-protection"] },
      spec: {
        accessModes: ["ReadWriteOnce"],
        capacity: { storage: "1Gi" },
        hostPath: { path: "/data", type: "" },
        persistentVolumeReclaimPolicy: "Retain",
        volumeMode: "Filesystem",
      },
      status: { phase: "Pending", lastPhaseTransitionTime: CONTEXT.time },
    });
  });

  test("gets the same defaults if they are set twice", () => {
    const once = defaulted(PERSISTENT_VOLUME, volume());
    expect(defaulted(PERSISTENT_VOLUME, once)).toEqual(once);
  });

  test.each<[string, JsonObject, JsonObject]>([
    ["rbd", { monitors: ["m"], image: "i" }, { pool: "rbd", user: "admin", keyring: "/etc/ceph/keyring" }],
    ["iscsi", { iqn: "iqn" }, { iscsiInterface: "default", lun: 0 }],
    ["scaleIO", { gateway: "g" }, { storageMode: "ThinProvisioned", fsType: "xfs", secretRef: null }],
    ["azureDisk", { diskName: "d" }, { cachingMode: "ReadWrite", fsType: "ext4", readOnly: false, kind: "Shared" }],
  ])("gets the defaults of its %s source", (key, source, defaults) => {
    const { spec } = defaulted(PERSISTENT_VOLUME, volume({ [key]: source }));
    expect((spec as JsonObject)[key]).toEqual({ ...source, ...defaults });
  });
});

describe("a new PersistentVolume", () => {
  test.each<[string, JsonObject, readonly string[]]>([
    ["is accepted if it is valid", {}, []],
    [
      "needs access modes, a capacity and a source",
      { accessModes: [], capacity: undefined, hostPath: undefined },
      [
        "spec.accessModes: Required value",
        "spec.capacity: Required value",
        'spec.capacity: Unsupported value: null: supported values: "storage"',
        "spec: Required value: must specify a volume type",
      ],
    ],
    [
      "needs known access modes, and ReadWriteOncePod only alone",
      { accessModes: ["Once", "ReadWriteOncePod", "ReadWriteMany"] },
      [
        'spec.accessModes: Unsupported value: "Once": supported values: "ReadOnlyMany", "ReadWriteMany", "ReadWriteOnce", "ReadWriteOncePod"',
        "spec.accessModes: Forbidden: may not use ReadWriteOncePod with other access modes",
      ],
    ],
    [
      "needs a positive capacity of storage only",
      { capacity: { storage: "0", cpu: "-1500m" } },
      [
        'spec.capacity: Unsupported value: {"cpu":"-1500m","storage":"0"}: supported values: "storage"',
        "spec.capacity[cpu]: Invalid value: -2: must be a valid resource quantity",
        'spec.capacity[cpu]: Invalid value: "-1500m": must be greater than zero',
        'spec.capacity[storage]: Invalid value: "0": must be greater than zero',
      ],
    ],
    [
      "rejects a second source",
      { nfs: { server: "s", path: "/" } },
      ["spec.nfs: Forbidden: may not specify more than 1 volume type"],
    ],
    [
      "rejects unknown policies and modes, and an invalid class name",
      { persistentVolumeReclaimPolicy: "Keep", volumeMode: "Tape", storageClassName: "A" },
      [
        'spec.persistentVolumeReclaimPolicy: Unsupported value: "Keep": supported values: "Delete", "Recycle", "Retain"',
        `spec.storageClassName: Invalid value: "A": ${SUBDOMAIN}`,
        'spec.volumeMode: Unsupported value: "Tape": supported values: "Block", "Filesystem"',
      ],
    ],
    [
      "rejects the policy Recycle for the root of a node",
      { hostPath: { path: "/a/.." }, persistentVolumeReclaimPolicy: "Recycle" },
      [
        "spec.hostPath.path: Invalid value: \"/a/..\": must not contain '..'",
        "spec.persistentVolumeReclaimPolicy: Forbidden: may not be 'recycle' for a hostPath mount of '/'",
      ],
    ],
    [
      "needs a CSI source for an attributes class",
      { volumeAttributesClassName: "" },
      [
        "spec.volumeAttributesClassName: Required value: an empty string is disallowed",
        "spec.csi: Required value: has to be specified when using volumeAttributesClassName",
      ],
    ],
    [
      "needs required terms in its node affinity",
      { nodeAffinity: {} },
      ["spec.nodeAffinity.required: Required value: must specify required node constraints"],
    ],
  ])("%s", (_what, spec, sentences) => {
    expect(createErrorsOf(PERSISTENT_VOLUME, volume(spec))).toEqual(sentences);
  });

  test("rejects mount options on a source that does not support them", () => {
    const annotations = { "volume.beta.kubernetes.io/mount-options": "ro" };
    expect(createErrorsOf(PERSISTENT_VOLUME, volume({}, { annotations }))).toEqual([
      "metadata.annotations.volume.beta.kubernetes.io/mount-options: Forbidden: may not specify mount options for this volume type",
    ]);
  });

  test("causes warnings about deprecated fields", () => {
    const annotations = { "volume.beta.kubernetes.io/storage-class": "fast" };
    const spec = { persistentVolumeReclaimPolicy: "Recycle", hostPath: undefined, storageos: {} };
    expect(warningsOf(PERSISTENT_VOLUME, volume(spec, { annotations }))).toEqual([
      'metadata.annotations[volume.beta.kubernetes.io/storage-class]: deprecated since v1.8; use "storageClassName" attribute instead',
      "spec.persistentVolumeReclaimPolicy: The Recycle reclaim policy is deprecated. Instead, the recommended approach is to use dynamic provisioning.",
      "spec.storageOS: deprecated in v1.22, non-functional in v1.25+",
    ]);
  });
});

describe("an update of a PersistentVolume", () => {
  test("that changes the source is rejected with a diff", () => {
    expect(updateErrorsOf(PERSISTENT_VOLUME, volume(), volume({ hostPath: { path: "/other" } }))).toEqual([
      `spec.persistentvolumesource: Forbidden: spec.persistentvolumesource is immutable after creation
@@ -2,7 +2,7 @@
  "GCEPersistentDisk": null,
  "AWSElasticBlockStore": null,
  "HostPath": {
-  "Path": "/data",
+  "Path": "/other",
   "Type": ""
  },
  "Glusterfs": null,
`,
    ]);
  });

  test("can change the reclaim policy, but not the volume mode", () => {
    const changed = volume({ volumeMode: "Block", persistentVolumeReclaimPolicy: "Delete" });
    expect(updateErrorsOf(PERSISTENT_VOLUME, volume(), changed)).toEqual([
      'volumeMode: Invalid value: "Block": field is immutable',
    ]);
  });

  test("may add the secret for expanding the volume", () => {
    const csi = { driver: "d.example.com", volumeHandle: "h" };
    const secret = { controllerExpandSecretRef: { name: "s", namespace: "n" } };
    const before = volume({ hostPath: undefined, csi });
    expect(
      updateErrorsOf(PERSISTENT_VOLUME, before, volume({ hostPath: undefined, csi: { ...csi, ...secret } })),
    ).toEqual([]);
  });

  test("cannot change the node affinity, except for replacing deprecated label keys", () => {
    const at = (key: string, zone: string): JsonObject => ({
      nodeAffinity: {
        required: { nodeSelectorTerms: [{ matchExpressions: [{ key, operator: "In", values: [zone] }] }] },
      },
    });
    const before = volume(at("failure-domain.beta.kubernetes.io/zone", "a"));
    expect(updateErrorsOf(PERSISTENT_VOLUME, before, volume(at("topology.kubernetes.io/zone", "a")))).toEqual([]);
    expect(updateErrorsOf(PERSISTENT_VOLUME, before, volume(at("topology.kubernetes.io/zone", "b")))).toEqual([
      'nodeAffinity: Invalid value: {"Required":{"NodeSelectorTerms":[{"MatchExpressions":[{"Key":"topology.kubernetes.io/zone","Operator":"In","Values":["b"]}],"MatchFields":null}]}}: field is immutable, except for updating from beta label to GA',
    ]);
  });
});

test("a status update sets the transition time if the phase changes, and keeps it otherwise", () => {
  const status = { phase: "Bound", lastPhaseTransitionTime: "2020-01-01T00:00:00Z" };
  const existing = defaulted(PERSISTENT_VOLUME, { ...volume(), status });
  const transition = (next: JsonObject): unknown => {
    const changed = { ...existing, status: next };
    PERSISTENT_VOLUME.prepareStatusUpdate?.(changed, existing, CONTEXT);
    return changed["status"];
  };
  expect(transition({ phase: "Released" })).toEqual({ phase: "Released", lastPhaseTransitionTime: CONTEXT.time });
  expect(transition({ phase: "Bound" })).toEqual(status);
});
