/** Validation of the sources of PersistentVolumes: one check for each type of source. */
import { forbiddenField, invalidValue, required } from "../../../meta/field-errors.ts";
import { objectAt, stringAt, type JsonObject } from "../../../meta/json.ts";
import { dnsLabelErrors } from "../../../meta/names.ts";
import type { FieldError } from "../../../meta/status-error.ts";
import { nameErrors } from "../checks.ts";
import { backstepErrors, driverNameErrors } from "../pods/rules/formats.ts";
import { LEGACY_SOURCES } from "../pods/rules/legacy-volume-rules.ts";
import { namedSecretErrors, rangeErrors, requiredTextErrors, secretReferenceErrors } from "./volume-source-checks.ts";

type SourceErrors = (source: JsonObject, field: string, volumeName: string) => Iterable<FieldError>;

interface VolumeSource {
  readonly key: string;
  readonly errors: SourceErrors;
  /**
   * The name that kubernetes shows in errors instead of the name of the field. `fieldOfSecond`: the name in the error
   * about a second source.
   */
  readonly field?: string;
  readonly fieldOfSecond?: string;
  /** As kubernetes: true for the one source that is accepted in addition to another source. */
  readonly isNeverSecond?: true;
}

const LUN = { key: "lun", max: 255, sentence: "must be between 0 and 255, inclusive" } as const;

/** Sorted in the order in which kubernetes checks the sources. */
const SOURCES: readonly VolumeSource[] = [
  { key: "hostPath", errors: LEGACY_SOURCES.hostPath.errors },
  { key: "gcePersistentDisk", field: "persistentDisk", errors: LEGACY_SOURCES.gcePersistentDisk.errors },
  { key: "awsElasticBlockStore", errors: LEGACY_SOURCES.awsElasticBlockStore.errors },
  { key: "glusterfs", errors: glusterfsErrors },
  { key: "flocker", errors: LEGACY_SOURCES.flocker.errors },
  { key: "nfs", errors: LEGACY_SOURCES.nfs.errors },
  { key: "rbd", errors: LEGACY_SOURCES.rbd.errors },
  { key: "quobyte", errors: LEGACY_SOURCES.quobyte.errors },
  { key: "cephfs", fieldOfSecond: "cephFS", errors: LEGACY_SOURCES.cephfs.errors },
  { key: "iscsi", errors: iscsiErrors },
  {
    key: "cinder",
    *errors(source, field) {
      yield* requiredTextErrors(source, field, ["volumeID"]);
      yield* namedSecretErrors(source, field);
    },
  },
  { key: "fc", errors: LEGACY_SOURCES.fc.errors },
  { key: "flexVolume", isNeverSecond: true, errors: LEGACY_SOURCES.flexVolume.errors },
  { key: "azureFile", errors: azureFileErrors },
  { key: "vsphereVolume", errors: LEGACY_SOURCES.vsphereVolume.errors },
  { key: "photonPersistentDisk", errors: LEGACY_SOURCES.photonPersistentDisk.errors },
  { key: "portworxVolume", errors: LEGACY_SOURCES.portworxVolume.errors },
  { key: "azureDisk", errors: LEGACY_SOURCES.azureDisk.errors },
  { key: "scaleIO", errors: LEGACY_SOURCES.scaleIO.errors },
  { key: "local", errors: localErrors },
  { key: "storageos", errors: storageOsErrors },
  { key: "csi", errors: csiErrors },
];

interface SourceContext {
  readonly volumeName: string;
  readonly hasNodeAffinity: boolean;
}

/** Checks that a volume has exactly one source, and the source itself. */
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

function* localErrors(source: JsonObject, field: string): Generator<FieldError> {
  const path = stringAt(source, "path");
  if (path === "") yield required(`${field}.path`);
  else yield* backstepErrors(path, `${field}.path`);
}

function* glusterfsErrors(source: JsonObject, field: string): Generator<FieldError> {
  yield* LEGACY_SOURCES.glusterfs.errors(source, field);
  const namespace = source["endpointsNamespace"];
  const at = `${field}.endpointsNamespace`;
  if (namespace === "")
    yield invalidValue(at, "", "if the endpointnamespace is set, it must be a valid namespace name");
  else if (typeof namespace === "string") yield* nameErrors(namespace, at, dnsLabelErrors);
}

const INITIATORS: readonly (readonly [prefix: string, pattern: RegExp])[] = [
  ["iqn", /iqn\.\d{4}-\d{2}\.([a-zA-Z0-9.-]+)(:[^,;*&$|\s]+)$/],
  ["eui", /^eui.[a-zA-Z0-9]{16}$/],
  ["naa", /^naa.[a-zA-Z0-9]{32}$/],
];
/** Limits the length of initiator names before they are matched, because no earlier check does. */
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

function* azureFileErrors(source: JsonObject, field: string): Generator<FieldError> {
  yield* LEGACY_SOURCES.azureFile.errors(source, field);
  if (source["secretNamespace"] === "") yield required(`${field}.secretNamespace`);
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
