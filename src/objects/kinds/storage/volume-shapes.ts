/** Volumes and claims as messages show them: kubernetes' own types, member by member. */
import { LABEL_SELECTOR, type GoField, type GoType } from "./go-value.ts";

const text = (name: string, key: string): GoField => [name, key, "string"];
const flag = (name: string, key: string): GoField => [name, key, "boolean"];
const number = (name: string, key: string): GoField => [name, key, "number"];
const any = (name: string, key: string): GoField => [name, key, "any"];
const pointer = (name: string, key: string, ...struct: readonly GoField[]): GoField => [
  name,
  key,
  { struct, isPointer: true },
];

const FS_TYPE = text("FSType", "fsType");
const READ_ONLY = flag("ReadOnly", "readOnly");
const SECRET_REFERENCE: GoType = { struct: [text("Name", "name"), text("Namespace", "namespace")], isPointer: true };
const secret = (name: string, key: string): GoField => [name, key, SECRET_REFERENCE];
const SECRET_REF = secret("SecretRef", "secretRef");

const OBJECT_REFERENCE: readonly GoField[] = [
  text("Kind", "kind"),
  text("Namespace", "namespace"),
  text("Name", "name"),
  text("UID", "uid"),
  text("APIVersion", "apiVersion"),
  text("ResourceVersion", "resourceVersion"),
  text("FieldPath", "fieldPath"),
];

const DISK_SOURCES: readonly GoField[] = [
  pointer(
    "GCEPersistentDisk",
    "gcePersistentDisk",
    text("PDName", "pdName"),
    FS_TYPE,
    number("Partition", "partition"),
    READ_ONLY,
  ),
  pointer(
    "AWSElasticBlockStore",
    "awsElasticBlockStore",
    text("VolumeID", "volumeID"),
    FS_TYPE,
    number("Partition", "partition"),
    READ_ONLY,
  ),
  pointer("HostPath", "hostPath", text("Path", "path"), any("Type", "type")),
  pointer(
    "Glusterfs",
    "glusterfs",
    text("EndpointsName", "endpoints"),
    text("Path", "path"),
    READ_ONLY,
    any("EndpointsNamespace", "endpointsNamespace"),
  ),
  pointer("NFS", "nfs", text("Server", "server"), text("Path", "path"), READ_ONLY),
  pointer(
    "RBD",
    "rbd",
    any("CephMonitors", "monitors"),
    text("RBDImage", "image"),
    FS_TYPE,
    text("RBDPool", "pool"),
    text("RadosUser", "user"),
    text("Keyring", "keyring"),
    SECRET_REF,
    READ_ONLY,
  ),
  pointer(
    "Quobyte",
    "quobyte",
    text("Registry", "registry"),
    text("Volume", "volume"),
    READ_ONLY,
    text("User", "user"),
    text("Group", "group"),
    text("Tenant", "tenant"),
  ),
  pointer(
    "ISCSI",
    "iscsi",
    text("TargetPortal", "targetPortal"),
    text("IQN", "iqn"),
    number("Lun", "lun"),
    text("ISCSIInterface", "iscsiInterface"),
    FS_TYPE,
    READ_ONLY,
    any("Portals", "portals"),
    flag("DiscoveryCHAPAuth", "chapAuthDiscovery"),
    flag("SessionCHAPAuth", "chapAuthSession"),
    SECRET_REF,
    any("InitiatorName", "initiatorName"),
  ),
  pointer("FlexVolume", "flexVolume", text("Driver", "driver"), FS_TYPE, SECRET_REF, READ_ONLY, [
    "Options",
    "options",
    { map: "string" },
  ]),
  pointer("Cinder", "cinder", text("VolumeID", "volumeID"), FS_TYPE, READ_ONLY, SECRET_REF),
  pointer(
    "CephFS",
    "cephfs",
    any("Monitors", "monitors"),
    text("Path", "path"),
    text("User", "user"),
    text("SecretFile", "secretFile"),
    SECRET_REF,
    READ_ONLY,
  ),
];

const CLOUD_SOURCES: readonly GoField[] = [
  pointer("FC", "fc", any("TargetWWNs", "targetWWNs"), any("Lun", "lun"), FS_TYPE, READ_ONLY, any("WWIDs", "wwids")),
  pointer("Flocker", "flocker", text("DatasetName", "datasetName"), text("DatasetUUID", "datasetUUID")),
  pointer(
    "AzureFile",
    "azureFile",
    text("SecretName", "secretName"),
    text("ShareName", "shareName"),
    READ_ONLY,
    any("SecretNamespace", "secretNamespace"),
  ),
  pointer(
    "VsphereVolume",
    "vsphereVolume",
    text("VolumePath", "volumePath"),
    FS_TYPE,
    text("StoragePolicyName", "storagePolicyName"),
    text("StoragePolicyID", "storagePolicyID"),
  ),
  pointer(
    "AzureDisk",
    "azureDisk",
    text("DiskName", "diskName"),
    text("DataDiskURI", "diskURI"),
    any("CachingMode", "cachingMode"),
    any("FSType", "fsType"),
    any("ReadOnly", "readOnly"),
    any("Kind", "kind"),
  ),
  pointer("PhotonPersistentDisk", "photonPersistentDisk", text("PdID", "pdID"), FS_TYPE),
  pointer("PortworxVolume", "portworxVolume", text("VolumeID", "volumeID"), FS_TYPE, READ_ONLY),
  pointer(
    "ScaleIO",
    "scaleIO",
    text("Gateway", "gateway"),
    text("System", "system"),
    SECRET_REF,
    flag("SSLEnabled", "sslEnabled"),
    text("ProtectionDomain", "protectionDomain"),
    text("StoragePool", "storagePool"),
    text("StorageMode", "storageMode"),
    text("VolumeName", "volumeName"),
    FS_TYPE,
    READ_ONLY,
  ),
  pointer("Local", "local", text("Path", "path"), any("FSType", "fsType")),
  pointer(
    "StorageOS",
    "storageos",
    text("VolumeName", "volumeName"),
    text("VolumeNamespace", "volumeNamespace"),
    FS_TYPE,
    READ_ONLY,
    pointer("SecretRef", "secretRef", ...OBJECT_REFERENCE),
  ),
  pointer(
    "CSI",
    "csi",
    text("Driver", "driver"),
    text("VolumeHandle", "volumeHandle"),
    READ_ONLY,
    FS_TYPE,
    ["VolumeAttributes", "volumeAttributes", { map: "string" }],
    secret("ControllerPublishSecretRef", "controllerPublishSecretRef"),
    secret("NodeStageSecretRef", "nodeStageSecretRef"),
    secret("NodePublishSecretRef", "nodePublishSecretRef"),
    secret("ControllerExpandSecretRef", "controllerExpandSecretRef"),
    secret("NodeExpandSecretRef", "nodeExpandSecretRef"),
  ),
];

/** Members of a volume's spec that say where its bytes are. */
export const VOLUME_SOURCE: GoType = { struct: [...DISK_SOURCES, ...CLOUD_SOURCES] };

const NODE_SELECTOR_REQUIREMENTS: GoType = {
  list: { struct: [text("Key", "key"), text("Operator", "operator"), any("Values", "values")] },
};

export const NODE_SELECTOR_TERMS: GoType = {
  list: {
    struct: [
      ["MatchExpressions", "matchExpressions", NODE_SELECTOR_REQUIREMENTS],
      ["MatchFields", "matchFields", NODE_SELECTOR_REQUIREMENTS],
    ],
  },
};

export const VOLUME_NODE_AFFINITY: GoType = {
  struct: [pointer("Required", "required", ["NodeSelectorTerms", "nodeSelectorTerms", NODE_SELECTOR_TERMS])],
  isPointer: true,
};

/** A core.PersistentVolumeSpec: its source is embedded. */
export const VOLUME_SPEC: GoType = {
  struct: [
    ["Capacity", "capacity", { map: "quantity" }],
    ...DISK_SOURCES,
    ...CLOUD_SOURCES,
    any("AccessModes", "accessModes"),
    pointer("ClaimRef", "claimRef", ...OBJECT_REFERENCE),
    text("PersistentVolumeReclaimPolicy", "persistentVolumeReclaimPolicy"),
    text("StorageClassName", "storageClassName"),
    any("MountOptions", "mountOptions"),
    any("VolumeMode", "volumeMode"),
    ["NodeAffinity", "nodeAffinity", VOLUME_NODE_AFFINITY],
    any("VolumeAttributesClassName", "volumeAttributesClassName"),
  ],
  isPointer: true,
};

const RESOURCES: GoType = { map: "quantity" };

export const CLAIM_SPEC: GoType = {
  struct: [
    any("AccessModes", "accessModes"),
    ["Selector", "selector", LABEL_SELECTOR],
    [
      "Resources",
      "resources",
      {
        struct: [
          ["Limits", "limits", RESOURCES],
          ["Requests", "requests", RESOURCES],
        ],
      },
    ],
    text("VolumeName", "volumeName"),
    any("StorageClassName", "storageClassName"),
    any("VolumeMode", "volumeMode"),
    pointer("DataSource", "dataSource", any("APIGroup", "apiGroup"), text("Kind", "kind"), text("Name", "name")),
    pointer(
      "DataSourceRef",
      "dataSourceRef",
      any("APIGroup", "apiGroup"),
      text("Kind", "kind"),
      text("Name", "name"),
      any("Namespace", "namespace"),
    ),
    any("VolumeAttributesClassName", "volumeAttributesClassName"),
  ],
};
