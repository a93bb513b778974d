/** Validation of in-tree volume sources. */
import { invalidValue, required, unsupportedValue } from "../../../../meta/field-errors.ts";
import { isJsonObject, numberAt, objectAt, stringAt, stringsAt, type JsonObject } from "../../../../meta/json.ts";
import type { FieldError } from "../../../../meta/status-error.ts";
import { backstepErrors, dnsLabelFieldErrors } from "./formats.ts";

const BYTE_MAX = 255;
const IQN = /iqn\.\d{4}-\d{2}\.[A-Za-z0-9\-.]+:[^,;*&$|\s]+$/;
const EUI = /^eui.[A-Za-z0-9]{16}$/;
const NAA = /^naa.[A-Za-z0-9]{32}$/;
const NAME_LENGTH_LOOKED_AT = 4096;
const CACHING_MODES: readonly string[] = ["None", "ReadOnly", "ReadWrite"];
const DISK_KINDS: readonly string[] = ["Dedicated", "Managed", "Shared"];
const TENANT_LENGTH_MAX = 64;
const HOST_PATH_TYPES: readonly string[] = [
  "",
  "BlockDevice",
  "CharDevice",
  "Directory",
  "DirectoryOrCreate",
  "File",
  "FileOrCreate",
  "Socket",
];
const HOST_PORTS = "must be a host:port pair or multiple pairs separated by commas";

/** A volume source whose validation depends on the source alone, so that PersistentVolumes can share it. */
interface LegacySource {
  readonly member: string;
  readonly errors: (source: JsonObject, field: string) => Iterable<FieldError>;
}

/** A source whose only rule is that some string fields are not empty. */
function requiringTexts(member: string, ...texts: readonly string[]): LegacySource {
  return {
    member,
    *errors(source, field) {
      for (const text of texts) if (stringAt(source, text) === "") yield required(`${field}.${text}`);
    },
  };
}

function* unsupportedErrors(value: unknown, field: string, supported: readonly string[]): Generator<FieldError> {
  if (value !== undefined && !supported.includes(String(value))) yield unsupportedValue(field, value, supported);
}

function* partitionErrors(source: JsonObject, field: string): Generator<FieldError> {
  const partition = numberAt(source, "partition") ?? 0;
  if (partition < 0 || partition > BYTE_MAX)
    yield invalidValue(`${field}.partition`, partition, `must be between 1 and ${BYTE_MAX}, inclusive`);
}

function* hostPathErrors(source: JsonObject, field: string): Generator<FieldError> {
  const path = stringAt(source, "path");
  if (path === "") {
    yield required(`${field}.path`);
    return;
  }
  yield* backstepErrors(path, `${field}.path`);
  yield* unsupportedErrors(source["type"], `${field}.type`, HOST_PATH_TYPES);
}

function* gcePersistentDiskErrors(source: JsonObject, field: string): Generator<FieldError> {
  if (stringAt(source, "pdName") === "") yield required(`${field}.pdName`);
  yield* partitionErrors(source, field);
}

function* awsElasticBlockStoreErrors(source: JsonObject, field: string): Generator<FieldError> {
  if (stringAt(source, "volumeID") === "") yield required(`${field}.volumeID`);
  yield* partitionErrors(source, field);
}

function* nfsErrors(source: JsonObject, field: string): Generator<FieldError> {
  const path = stringAt(source, "path");
  if (stringAt(source, "server") === "") yield required(`${field}.server`);
  if (path === "") yield required(`${field}.path`);
  if (!path.startsWith("/")) yield invalidValue(`${field}.path`, path, "must be an absolute path");
}

function* iscsiErrors(source: JsonObject, field: string): Generator<FieldError> {
  if (stringAt(source, "targetPortal") === "") yield required(`${field}.targetPortal`);
  const iqn = stringAt(source, "iqn");
  if (iqn === "") yield required(`${field}.iqn`);
  else yield* initiatorNameErrors(iqn, `${field}.iqn`);
  const lun = numberAt(source, "lun") ?? 0;
  if (lun < 0 || lun > BYTE_MAX)
    yield invalidValue(`${field}.lun`, lun, `must be between 0 and ${BYTE_MAX}, inclusive`);
  const isAuthenticated = source["chapAuthDiscovery"] === true || source["chapAuthSession"] === true;
  if (isAuthenticated && !isJsonObject(source["secretRef"])) yield required(`${field}.secretRef`);
  const initiator = source["initiatorName"];
  if (typeof initiator === "string") yield* initiatorNameErrors(initiator, `${field}.initiatorname`);
}

function* initiatorNameErrors(name: string, field: string): Generator<FieldError> {
  const prefix = name.slice(0, 3);
  const pattern = { iqn: IQN, eui: EUI, naa: NAA }[prefix];
  if (pattern === undefined) yield invalidValue(field, name, "must be valid format starting with iqn, eui, or naa");
  else if (name.length > NAME_LENGTH_LOOKED_AT || !pattern.test(name))
    yield invalidValue(field, name, "must be valid format");
}

function* flockerErrors(source: JsonObject, field: string): Generator<FieldError> {
  const name = stringAt(source, "datasetName");
  const uuid = stringAt(source, "datasetUUID");
  if (name === "" && uuid === "") yield required(field, "one of datasetName and datasetUUID is required");
  if (name !== "" && uuid !== "")
    yield invalidValue(field, "resource", "datasetName and datasetUUID can not be specified simultaneously");
  if (name.includes("/")) yield invalidValue(`${field}.datasetName`, name, "must not contain '/'");
}

function* rbdErrors(source: JsonObject, field: string): Generator<FieldError> {
  if (stringsAt(source, "monitors").length === 0) yield required(`${field}.monitors`);
  if (stringAt(source, "image") === "") yield required(`${field}.image`);
}

function* cinderErrors(source: JsonObject, field: string): Generator<FieldError> {
  if (stringAt(source, "volumeID") === "") yield required(`${field}.volumeID`);
  yield* secretNameErrors(source, field);
}

function* secretNameErrors(source: JsonObject, field: string): Generator<FieldError> {
  if (isJsonObject(source["secretRef"]) && stringAt(objectAt(source, "secretRef"), "name") === "")
    yield required(`${field}.secretRef.name`);
}

function* cephfsErrors(source: JsonObject, field: string): Generator<FieldError> {
  if (stringsAt(source, "monitors").length === 0) yield required(`${field}.monitors`);
}

function* quobyteErrors(source: JsonObject, field: string): Generator<FieldError> {
  const registry = stringAt(source, "registry");
  if (registry === "") yield required(`${field}.registry`, HOST_PORTS);
  else if (stringAt(source, "tenant").length > TENANT_LENGTH_MAX)
    yield required(`${field}.tenant`, "must be a UUID and may not exceed a length of 64 characters");
  else
    for (const pair of registry.split(","))
      if (!/^([^:[\]]*|\[[^[\]]*\]):[^:[\]]*$/.test(pair))
        yield invalidValue(`${field}.registry`, registry, HOST_PORTS);
  if (stringAt(source, "volume") === "") yield required(`${field}.volume`);
}

function* fibreChannelErrors(source: JsonObject, field: string): Generator<FieldError> {
  const names = stringsAt(source, "targetWWNs");
  const ids = stringsAt(source, "wwids");
  if (names.length === 0 && ids.length === 0)
    yield required(`${field}.targetWWNs`, "must specify either targetWWNs or wwids, but not both");
  if (names.length > 0 && ids.length > 0)
    yield invalidValue(`${field}.targetWWNs`, names, "targetWWNs and wwids can not be specified simultaneously");
  const lun = numberAt(source, "lun");
  if (names.length === 0) return;
  if (lun === undefined) yield required(`${field}.lun`, "lun is required if targetWWNs is specified");
  else if (lun < 0 || lun > BYTE_MAX)
    yield invalidValue(`${field}.lun`, lun, `must be between 0 and ${BYTE_MAX}, inclusive`);
}

function* flexVolumeErrors(source: JsonObject, field: string): Generator<FieldError> {
  if (stringAt(source, "driver") === "") yield required(`${field}.driver`);
  for (const key of Object.keys(objectAt(source, "options"))) {
    const [prefix = ""] = key.split("/", 1);
    const domain = `.${prefix.toLowerCase()}`;
    if (domain.endsWith(".kubernetes.io") || domain.endsWith(".k8s.io"))
      yield invalidValue(`${field}.options[${key}]`, key, "kubernetes.io and k8s.io namespaces are reserved");
  }
}

function* azureDiskErrors(source: JsonObject, field: string): Generator<FieldError> {
  const uri = stringAt(source, "diskURI");
  const { kind } = source;
  if (stringAt(source, "diskName") === "") yield required(`${field}.diskName`);
  if (uri === "") yield required(`${field}.diskURI`);
  yield* unsupportedErrors(source["cachingMode"], `${field}.cachingMode`, CACHING_MODES);
  yield* unsupportedErrors(kind, `${field}.kind`, DISK_KINDS);
  if (kind === "Managed" && !uri.startsWith("/subscriptions/"))
    yield unsupportedValue(`${field}.diskURI`, uri, [
      "/subscriptions/{sub-id}/resourcegroups/{group-name}/providers/microsoft.compute/disks/{disk-id}",
    ]);
  if (kind !== undefined && kind !== "Managed" && !uri.startsWith("https://"))
    yield unsupportedValue(`${field}.diskURI`, uri, [
      "https://{account-name}.blob.core.windows.net/{container-name}/{disk-name}.vhd",
    ]);
}

function* storageOsErrors(source: JsonObject, field: string): Generator<FieldError> {
  const name = stringAt(source, "volumeName");
  const namespace = stringAt(source, "volumeNamespace");
  if (name === "") yield required(`${field}.volumeName`);
  else yield* dnsLabelFieldErrors(name, `${field}.volumeName`);
  if (namespace !== "") yield* dnsLabelFieldErrors(namespace, `${field}.volumeNamespace`);
  yield* secretNameErrors(source, field);
}

export const LEGACY_SOURCES = {
  hostPath: { member: "hostPath", errors: hostPathErrors },
  gcePersistentDisk: { member: "gcePersistentDisk", errors: gcePersistentDiskErrors },
  awsElasticBlockStore: { member: "awsElasticBlockStore", errors: awsElasticBlockStoreErrors },
  nfs: { member: "nfs", errors: nfsErrors },
  iscsi: { member: "iscsi", errors: iscsiErrors },
  glusterfs: requiringTexts("glusterfs", "endpoints", "path"),
  flocker: { member: "flocker", errors: flockerErrors },
  persistentVolumeClaim: requiringTexts("persistentVolumeClaim", "claimName"),
  rbd: { member: "rbd", errors: rbdErrors },
  cinder: { member: "cinder", errors: cinderErrors },
  cephfs: { member: "cephfs", errors: cephfsErrors },
  quobyte: { member: "quobyte", errors: quobyteErrors },
  fc: { member: "fc", errors: fibreChannelErrors },
  flexVolume: { member: "flexVolume", errors: flexVolumeErrors },
  azureFile: requiringTexts("azureFile", "secretName", "shareName"),
  vsphereVolume: requiringTexts("vsphereVolume", "volumePath"),
  photonPersistentDisk: requiringTexts("photonPersistentDisk", "pdID"),
  portworxVolume: requiringTexts("portworxVolume", "volumeID"),
  azureDisk: { member: "azureDisk", errors: azureDiskErrors },
  storageos: { member: "storageos", errors: storageOsErrors },
  scaleIO: requiringTexts("scaleIO", "gateway", "system", "volumeName"),
} as const satisfies Readonly<Record<string, LegacySource>>;
