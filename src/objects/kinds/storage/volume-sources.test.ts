import { expect, test } from "vitest";
import { firstErrors } from "../../../meta/field-errors.ts";
import type { JsonObject } from "../../../meta/json.ts";
import { volumeSourceErrors } from "./volume-sources.ts";

const LABEL =
  "a lowercase RFC 1123 label must consist of lower case alphanumeric characters or '-', and must start and end with an alphanumeric character (e.g. 'my-name',  or '123-abc', regex used for validation is '[a-z0-9]([-a-z0-9]*[a-z0-9])?')";

const WRONG: readonly (readonly [key: string, source: JsonObject, sentences: readonly string[]])[] = [
  ["hostPath", { path: "", type: "" }, ["spec.hostPath.path: Required value"]],
  [
    "hostPath",
    { path: "/", type: "Disk" },
    [
      'spec.hostPath.type: Unsupported value: "Disk": supported values: "", "BlockDevice", "CharDevice", "Directory", "DirectoryOrCreate", "File", "FileOrCreate", "Socket"',
    ],
  ],
  [
    "gcePersistentDisk",
    { partition: 256 },
    [
      "spec.persistentDisk.pdName: Required value",
      "spec.persistentDisk.partition: Invalid value: 256: must be between 1 and 255, inclusive",
    ],
  ],
  ["awsElasticBlockStore", {}, ["spec.awsElasticBlockStore.volumeID: Required value"]],
  [
    "glusterfs",
    { endpointsNamespace: "" },
    [
      "spec.glusterfs.endpoints: Required value",
      "spec.glusterfs.path: Required value",
      'spec.glusterfs.endpointsNamespace: Invalid value: "": if the endpointnamespace is set, it must be a valid namespace name',
    ],
  ],
  ["flocker", {}, ["spec.flocker: Required value: one of datasetName and datasetUUID is required"]],
  [
    "flocker",
    { datasetName: "a/b", datasetUUID: "u" },
    [
      'spec.flocker: Invalid value: "resource": datasetName and datasetUUID can not be specified simultaneously',
      "spec.flocker.datasetName: Invalid value: \"a/b\": must not contain '/'",
    ],
  ],
  [
    "nfs",
    { path: "a" },
    ["spec.nfs.server: Required value", 'spec.nfs.path: Invalid value: "a": must be an absolute path'],
  ],
  ["rbd", {}, ["spec.rbd.monitors: Required value", "spec.rbd.image: Required value"]],
  [
    "quobyte",
    { registry: "a:1,b" },
    [
      'spec.quobyte.registry: Invalid value: "a:1,b": must be a host:port pair or multiple pairs separated by commas',
      "spec.quobyte.volume: Required value",
    ],
  ],
  ["cephfs", {}, ["spec.cephfs.monitors: Required value"]],
  [
    "iscsi",
    { targetPortal: "p".repeat(64), iqn: "x", lun: 256, chapAuthSession: true, initiatorName: "iqn.x" },
    [
      `spec.iscsi.targetportal: Invalid value: "${"p".repeat(64)}": Total length of <volume name>:<iscsi.targetPortal> must be under 64 characters if iscsi.initiatorName is specified.`,
      'spec.iscsi.iqn: Invalid value: "x": must be valid format',
      "spec.iscsi.lun: Invalid value: 256: must be between 0 and 255, inclusive",
      "spec.iscsi.secretRef: Required value",
      'spec.iscsi.initiatorname: Invalid value: "iqn.x": must be valid format',
    ],
  ],
  ["iscsi", { targetPortal: "p", iqn: "iqn.2001-04.com.example:storage", initiatorName: `naa.${"a".repeat(32)}` }, []],
  ["cinder", { secretRef: {} }, ["volumeID", "secretRef.name", "secretRef.namespace"].map(missing("cinder"))],
  ["fc", {}, ["spec.fc.targetWWNs: Required value: must specify either targetWWNs or wwids, but not both"]],
  [
    "fc",
    { targetWWNs: ["a"], wwids: ["b"] },
    [
      'spec.fc.targetWWNs: Invalid value: ["a"]: targetWWNs and wwids can not be specified simultaneously',
      "spec.fc.lun: Required value: lun is required if targetWWNs is specified",
    ],
  ],
  [
    "flexVolume",
    { options: { "x.K8s.io/a": "b" } },
    [
      "spec.flexVolume.driver: Required value",
      'spec.flexVolume.options[x.K8s.io/a]: Invalid value: "x.K8s.io/a": kubernetes.io and k8s.io namespaces are reserved',
    ],
  ],
  ["azureFile", { secretNamespace: "" }, ["secretName", "shareName", "secretNamespace"].map(missing("azureFile"))],
  ["vsphereVolume", {}, [missing("vsphereVolume")("volumePath")]],
  ["photonPersistentDisk", {}, [missing("photonPersistentDisk")("pdID")]],
  ["portworxVolume", {}, [missing("portworxVolume")("volumeID")]],
  [
    "azureDisk",
    { diskName: "d", diskURI: "u", cachingMode: "Some", kind: "Managed" },
    [
      'spec.azureDisk.cachingMode: Unsupported value: "Some": supported values: "None", "ReadOnly", "ReadWrite"',
      'spec.azureDisk.diskURI: Unsupported value: "u": supported values: "/subscriptions/{sub-id}/resourcegroups/{group-name}/providers/microsoft.compute/disks/{disk-id}"',
    ],
  ],
  ["scaleIO", {}, ["gateway", "system", "volumeName"].map(missing("scaleIO"))],
  ["local", { path: "/a" }, ["spec.nodeAffinity: Required value: Local volume requires node affinity"]],
  ["storageos", { volumeName: "A" }, [`spec.storageos.volumeName: Invalid value: "A": ${LABEL}`]],
  [
    "csi",
    { driver: "x".repeat(64), nodePublishSecretRef: { name: "a" } },
    [
      "spec.csi.driver: Too long: may not be more than 63 bytes",
      "spec.csi.volumeHandle: Required value",
      "spec.csi.nodePublishSecretRef.namespace: Required value",
    ],
  ],
];

test.each(WRONG)("an invalid %s source is rejected", (key, source, sentences) => {
  const errors = volumeSourceErrors({ [key]: source }, "spec", { volumeName: "v", hasNodeAffinity: false });
  expect(firstErrors(errors).map(({ field, message }) => `${field}: ${message}`)).toEqual(sentences);
});

function missing(source: string): (key: string) => string {
  return (key) => `spec.${source}.${key}: Required value`;
}
