/** What is wrong with where a volume's bytes are said to be: one check for each kind of source. */
import { forbiddenField, invalidValue, required, unsupportedValue } from "../../meta/field-errors.ts";
import { objectAt, stringAt, stringsAt, type JsonObject } from "../../meta/json.ts";
import { dnsLabelErrors } from "../../meta/names.ts";
import type { FieldError } from "../../meta/status-error.ts";
import { nameErrors, numberAt } from "../checks.ts";
import {
  backstepErrors,
  driverNameErrors,
  isHostPort,
  namedSecretErrors,
  rangeErrors,
  requiredListErrors,
  requiredTextErrors,
  secretReferenceErrors,
} from "./volume-source-checks.ts";

type SourceErrors = (source: JsonObject, field: string, volumeName: string) => Iterable<FieldError>;

interface VolumeSource {
  readonly key: string;
  readonly errors: SourceErrors;
  /** Where kubernetes puts what is wrong with it, if not under its own name. */
  readonly field?: string;
  readonly fieldOfSecond?: string;
  /** As kubernetes: the one source that may stand beside another. */
  readonly isNeverSecond?: true;
}

const PARTITION = { key: "partition", max: 255, sentence: "must be between 1 and 255, inclusive" } as const;
const LUN = { key: "lun", max: 255, sentence: "must be between 0 and 255, inclusive" } as const;

/** In the order in which kubernetes looks for them. */
const SOURCES: readonly VolumeSource[] = [
  { key: "hostPath", errors: hostPathErrors },
  {
    key: "gcePersistentDisk",
    field: "persistentDisk",
    *errors(source, field) {
      yield* requiredTextErrors(source, field, ["pdName"]);
      yield* rangeErrors(source, field, PARTITION);
    },
  },
  {
    key: "awsElasticBlockStore",
    *errors(source, field) {
      yield* requiredTextErrors(source, field, ["volumeID"]);
      yield* rangeErrors(source, field, PARTITION);
    },
  },
  { key: "glusterfs", errors: glusterfsErrors },
  { key: "flocker", errors: flockerErrors },
  { key: "nfs", errors: nfsErrors },
  {
    key: "rbd",
    *errors(source, field) {
      yield* requiredListErrors(source, field, "monitors");
      yield* requiredTextErrors(source, field, ["image"]);
    },
  },
  { key: "quobyte", errors: quobyteErrors },
  { key: "cephfs", fieldOfSecond: "cephFS", errors: (source, field) => requiredListErrors(source, field, "monitors") },
  { key: "iscsi", errors: iscsiErrors },
  {
    key: "cinder",
    *errors(source, field) {
      yield* requiredTextErrors(source, field, ["volumeID"]);
      yield* namedSecretErrors(source, field);
    },
  },
  { key: "fc", errors: fibreChannelErrors },
  { key: "flexVolume", isNeverSecond: true, errors: flexVolumeErrors },
  { key: "azureFile", errors: azureFileErrors },
  { key: "vsphereVolume", errors: (source, field) => requiredTextErrors(source, field, ["volumePath"]) },
  { key: "photonPersistentDisk", errors: (source, field) => requiredTextErrors(source, field, ["pdID"]) },
  { key: "portworxVolume", errors: (source, field) => requiredTextErrors(source, field, ["volumeID"]) },
  { key: "azureDisk", errors: azureDiskErrors },
  { key: "scaleIO", errors: (source, field) => requiredTextErrors(source, field, ["gateway", "system", "volumeName"]) },
  { key: "local", errors: localErrors },
  { key: "storageos", errors: storageOsErrors },
  { key: "csi", errors: csiErrors },
];

export interface SourceContext {
  readonly volumeName: string;
  readonly hasNodeAffinity: boolean;
}

/** A volume is of exactly one type. */
export function* volumeSourceErrors(spec: JsonObject, field: string, context: SourceContext): Generator<FieldError> {
  let count = 0;
  for (const { key, errors, field: fieldOfErrors = key, fieldOfSecond = key, isNeverSecond } of SOURCES) {
    if (spec[key] === undefined) continue;
    if (count > 0 && isNeverSecond !== true) {
      yield forbiddenField(`${field}.${fieldOfSecond}`, "may not specify more than 1 volume type");
      continue;
    }
    count++;
    yield* errors(objectAt(spec, key), `${field}.${fieldOfErrors}`, context.volumeName);
    if (key === "local" && !context.hasNodeAffinity)
      yield required(`${field}.nodeAffinity`, "Local volume requires node affinity");
  }
  if (count === 0) yield required(field, "must specify a volume type");
}

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

function* hostPathErrors(source: JsonObject, field: string): Generator<FieldError> {
  const path = stringAt(source, "path");
  if (path === "") {
    yield required(`${field}.path`);
    return;
  }
  yield* backstepErrors(path, `${field}.path`);
  const type = stringAt(source, "type");
  if (!HOST_PATH_TYPES.includes(type)) yield unsupportedValue(`${field}.type`, type, HOST_PATH_TYPES);
}

function* localErrors(source: JsonObject, field: string): Generator<FieldError> {
  const path = stringAt(source, "path");
  if (path === "") yield required(`${field}.path`);
  else yield* backstepErrors(path, `${field}.path`);
}

function* glusterfsErrors(source: JsonObject, field: string): Generator<FieldError> {
  yield* requiredTextErrors(source, field, ["endpoints", "path"]);
  const namespace = source["endpointsNamespace"];
  const at = `${field}.endpointsNamespace`;
  if (namespace === "")
    yield invalidValue(at, "", "if the endpointnamespace is set, it must be a valid namespace name");
  else if (typeof namespace === "string") yield* nameErrors(namespace, at, dnsLabelErrors);
}

function* flockerErrors(source: JsonObject, field: string): Generator<FieldError> {
  const name = stringAt(source, "datasetName");
  const uuid = stringAt(source, "datasetUUID");
  if (name === "" && uuid === "") yield required(field, "one of datasetName and datasetUUID is required");
  if (name !== "" && uuid !== "")
    yield invalidValue(field, "resource", "datasetName and datasetUUID can not be specified simultaneously");
  if (name.includes("/")) yield invalidValue(`${field}.datasetName`, name, "must not contain '/'");
}

function* nfsErrors(source: JsonObject, field: string): Generator<FieldError> {
  yield* requiredTextErrors(source, field, ["server", "path"]);
  const path = stringAt(source, "path");
  if (!path.startsWith("/")) yield invalidValue(`${field}.path`, path, "must be an absolute path");
}

function* quobyteErrors(source: JsonObject, field: string): Generator<FieldError> {
  const registry = stringAt(source, "registry");
  const pairs = "must be a host:port pair or multiple pairs separated by commas";
  if (registry === "") yield required(`${field}.registry`, pairs);
  else if (Buffer.byteLength(stringAt(source, "tenant")) > 64)
    yield required(`${field}.tenant`, "must be a UUID and may not exceed a length of 64 characters");
  else
    for (const pair of registry.split(","))
      if (!isHostPort(pair)) yield invalidValue(`${field}.registry`, registry, pairs);
  yield* requiredTextErrors(source, field, ["volume"]);
}

const INITIATORS: readonly (readonly [prefix: string, pattern: RegExp])[] = [
  ["iqn", /iqn\.\d{4}-\d{2}\.([a-zA-Z0-9.-]+)(:[^,;*&$|\s]+)$/],
  ["eui", /^eui.[a-zA-Z0-9]{16}$/],
  ["naa", /^naa.[a-zA-Z0-9]{32}$/],
];
/** Names of initiators reach this code unbounded. */
const INITIATOR_CHARACTERS_MAX = 4096;

function* initiatorErrors(name: string, field: string): Generator<FieldError> {
  const pattern = INITIATORS.find(([prefix]) => name.startsWith(prefix))?.[1];
  if (name.length > INITIATOR_CHARACTERS_MAX || pattern?.test(name) !== true)
    yield invalidValue(field, name, "must be valid format");
}

function* iscsiErrors(source: JsonObject, field: string, volumeName: string): Generator<FieldError> {
  yield* requiredTextErrors(source, field, ["targetPortal"]);
  const portal = stringAt(source, "targetPortal");
  const initiator = source["initiatorName"];
  if (initiator !== undefined && Buffer.byteLength(`${volumeName}:${portal}`) > 64)
    yield invalidValue(
      `${field}.targetportal`,
      portal,
      "Total length of <volume name>:<iscsi.targetPortal> must be under 64 characters if iscsi.initiatorName is specified.",
    );
  const iqn = stringAt(source, "iqn");
  if (iqn === "") yield required(`${field}.iqn`);
  else yield* initiatorErrors(iqn, `${field}.iqn`);
  yield* rangeErrors(source, field, LUN);
  const authenticates = source["chapAuthDiscovery"] === true || source["chapAuthSession"] === true;
  if (authenticates && source["secretRef"] === undefined) yield required(`${field}.secretRef`);
  if (source["secretRef"] !== undefined)
    yield* requiredTextErrors(objectAt(source, "secretRef"), `${field}.secretRef`, ["name"]);
  if (typeof initiator === "string") yield* initiatorErrors(initiator, `${field}.initiatorname`);
}

function* fibreChannelErrors(source: JsonObject, field: string): Generator<FieldError> {
  const targets = stringsAt(source, "targetWWNs");
  const ids = stringsAt(source, "wwids");
  const at = `${field}.targetWWNs`;
  if (targets.length === 0 && ids.length === 0)
    yield required(at, "must specify either targetWWNs or wwids, but not both");
  if (targets.length > 0 && ids.length > 0)
    yield invalidValue(at, targets, "targetWWNs and wwids can not be specified simultaneously");
  if (targets.length === 0) return;
  if (numberAt(source, "lun") === undefined)
    yield required(`${field}.lun`, "lun is required if targetWWNs is specified");
  else yield* rangeErrors(source, field, LUN);
}

function* flexVolumeErrors(source: JsonObject, field: string): Generator<FieldError> {
  yield* requiredTextErrors(source, field, ["driver"]);
  for (const key of Object.keys(objectAt(source, "options")).sort()) {
    const slash = key.indexOf("/");
    const namespace = `.${(slash < 0 ? key : key.slice(0, slash)).toLowerCase()}`;
    if (namespace.endsWith(".kubernetes.io") || namespace.endsWith(".k8s.io"))
      yield invalidValue(`${field}.options[${key}]`, key, "kubernetes.io and k8s.io namespaces are reserved");
  }
}

function* azureFileErrors(source: JsonObject, field: string): Generator<FieldError> {
  yield* requiredTextErrors(source, field, ["secretName", "shareName"]);
  if (source["secretNamespace"] === "") yield required(`${field}.secretNamespace`);
}

const MANAGED_DISK_URI =
  "/subscriptions/{sub-id}/resourcegroups/{group-name}/providers/microsoft.compute/disks/{disk-id}";
const BLOB_DISK_URI = "https://{account-name}.blob.core.windows.net/{container-name}/{disk-name}.vhd";

function* azureDiskErrors(source: JsonObject, field: string): Generator<FieldError> {
  yield* requiredTextErrors(source, field, ["diskName", "diskURI"]);
  const cachingMode = stringAt(source, "cachingMode");
  const cachingModes = ["None", "ReadOnly", "ReadWrite"];
  if (!cachingModes.includes(cachingMode)) yield unsupportedValue(`${field}.cachingMode`, cachingMode, cachingModes);
  const kind = stringAt(source, "kind");
  const kinds = ["Dedicated", "Managed", "Shared"];
  if (!kinds.includes(kind)) yield unsupportedValue(`${field}.kind`, kind, kinds);
  const uri = stringAt(source, "diskURI");
  const [prefix, supported] = kind === "Managed" ? ["/subscriptions/", MANAGED_DISK_URI] : ["https://", BLOB_DISK_URI];
  if (!uri.startsWith(prefix)) yield unsupportedValue(`${field}.diskURI`, uri, [supported]);
}

function* storageOsErrors(source: JsonObject, field: string): Generator<FieldError> {
  const name = stringAt(source, "volumeName");
  if (name === "") yield required(`${field}.volumeName`);
  else yield* nameErrors(name, `${field}.volumeName`, dnsLabelErrors);
  const namespace = stringAt(source, "volumeNamespace");
  if (namespace !== "") yield* nameErrors(namespace, `${field}.volumeNamespace`, dnsLabelErrors);
  yield* namedSecretErrors(source, field);
}

function* csiErrors(source: JsonObject, field: string): Generator<FieldError> {
  yield* driverNameErrors(stringAt(source, "driver"), `${field}.driver`);
  yield* requiredTextErrors(source, field, ["volumeHandle"]);
  const secrets = [
    "controllerPublishSecretRef",
    "controllerExpandSecretRef",
    "nodePublishSecretRef",
    "nodeExpandSecretRef",
  ];
  for (const key of secrets) yield* secretReferenceErrors(source, field, key);
}
