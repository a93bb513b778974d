/** Validation of volume sources. */
import { forbiddenField, required } from "../../../../meta/field-errors.ts";
import { isJsonObject, objectsAt, stringAt, type JsonObject } from "../../../../meta/json.ts";
import { dnsSubdomainErrors } from "../../../../meta/names.ts";
import type { FieldError } from "../../../../meta/status-error.ts";
import { nameErrors } from "../../checks.ts";
import { nanosOf } from "../../../../meta/quantity.ts";
import { claimTemplateErrors } from "./claim-template-rules.ts";
import { pullPolicyErrors } from "./container-rules.ts";
import { descendingPathErrors, driverNameErrors } from "./formats.ts";
import { projectionErrors } from "./projected-rules.ts";
import { LEGACY_SOURCES } from "./legacy-volume-rules.ts";
import type { SpecContext } from "./spec-context.ts";
import { downwardFileErrors, keyToPathErrors, modeErrors } from "./volume-file-rules.ts";
import type { SourceRule } from "./volume-source.ts";

function* emptyDirErrors(source: JsonObject, field: string): Generator<FieldError> {
  if (nanosOf(source["sizeLimit"]) < 0n)
    yield forbiddenField(`${field}.sizeLimit`, "SizeLimit field must be a valid resource quantity");
}

function* gitRepoErrors(source: JsonObject, field: string): Generator<FieldError> {
  if (stringAt(source, "repository") === "") yield required(`${field}.repository`);
  yield* descendingPathErrors(stringAt(source, "directory"), `${field}.directory`);
}

function* secretErrors(source: JsonObject, field: string): Generator<FieldError> {
  if (stringAt(source, "secretName") === "") yield required(`${field}.secretName`);
  yield* filesErrors(source, field);
}

function* configMapErrors(source: JsonObject, field: string): Generator<FieldError> {
  if (stringAt(source, "name") === "") yield required(`${field}.name`);
  yield* filesErrors(source, field);
}

function* filesErrors(source: JsonObject, field: string): Generator<FieldError> {
  yield* modeErrors(source, `${field}.defaultMode`, "defaultMode");
  for (const [index, item] of objectsAt(source, "items").entries())
    yield* keyToPathErrors(item, `${field}.items[${index}]`);
}

function* downwardApiErrors(source: JsonObject, field: string): Generator<FieldError> {
  yield* modeErrors(source, `${field}.defaultMode`, "defaultMode");
  for (const file of objectsAt(source, "items")) yield* downwardFileErrors(file, field);
}

function* projectedErrors(source: JsonObject, field: string): Generator<FieldError> {
  yield* modeErrors(source, `${field}.defaultMode`, "defaultMode");
  yield* projectionErrors(source, field);
}

function* csiErrors(source: JsonObject, field: string): Generator<FieldError> {
  yield* driverNameErrors(stringAt(source, "driver"), `${field}.driver`);
  const secret = source["nodePublishSecretRef"];
  if (!isJsonObject(secret)) return;
  const name = stringAt(secret, "name");
  if (name === "") yield required(`${field}.nodePublishSecretRef.name`);
  else yield* nameErrors(name, `${field}.name`, dnsSubdomainErrors);
}

function* ephemeralErrors(source: JsonObject, field: string, context: SpecContext): Generator<FieldError> {
  const template = source["volumeClaimTemplate"];
  if (isJsonObject(template)) yield* claimTemplateErrors(template, `${field}.volumeClaimTemplate`, context);
  else yield required(`${field}.volumeClaimTemplate`);
}

function* imageErrors(source: JsonObject, field: string, { isPod }: SpecContext): Generator<FieldError> {
  if (isPod && stringAt(source, "reference") === "") yield required(`${field}.reference`);
  yield* pullPolicyErrors(stringAt(source, "pullPolicy"), `${field}.pullPolicy`);
}

/** Sorted in the order in which kubernetes checks the sources. */
export const VOLUME_SOURCES: readonly SourceRule[] = [
  { member: "emptyDir", errors: emptyDirErrors },
  LEGACY_SOURCES.hostPath,
  { member: "gitRepo", errors: gitRepoErrors },
  { ...LEGACY_SOURCES.gcePersistentDisk, shownInside: "persistentDisk" },
  LEGACY_SOURCES.awsElasticBlockStore,
  { member: "secret", errors: secretErrors },
  LEGACY_SOURCES.nfs,
  LEGACY_SOURCES.iscsi,
  LEGACY_SOURCES.glusterfs,
  LEGACY_SOURCES.flocker,
  LEGACY_SOURCES.persistentVolumeClaim,
  LEGACY_SOURCES.rbd,
  LEGACY_SOURCES.cinder,
  { ...LEGACY_SOURCES.cephfs, shownAs: "cephFS" },
  LEGACY_SOURCES.quobyte,
  { member: "downwardAPI", shownAs: "downwarAPI", errors: downwardApiErrors },
  LEGACY_SOURCES.fc,
  LEGACY_SOURCES.flexVolume,
  { member: "configMap", errors: configMapErrors },
  LEGACY_SOURCES.azureFile,
  LEGACY_SOURCES.vsphereVolume,
  LEGACY_SOURCES.photonPersistentDisk,
  LEGACY_SOURCES.portworxVolume,
  LEGACY_SOURCES.azureDisk,
  LEGACY_SOURCES.storageos,
  { member: "projected", errors: projectedErrors },
  LEGACY_SOURCES.scaleIO,
  { member: "csi", errors: csiErrors },
  { member: "ephemeral", errors: ephemeralErrors },
  { member: "image", errors: imageErrors },
];
