/** Defaults, validation and warnings of PersistentVolumes. */
import { forbiddenField, invalidValue } from "../../../meta/field-errors.ts";
import { isJsonObject, objectAt, objectsAt, stringAt, type JsonObject } from "../../../meta/json.ts";
import type { FieldError } from "../../../meta/status-error.ts";
import { immutableErrors } from "../checks.ts";
import type { Kind, KindContext } from "../kind.ts";
import { unifiedDiff } from "../internal-version/unified-diff.ts";
import { setRemoteDefaults } from "../pods/volume-defaults.ts";
import { addFinalizer, ownStruct, setEmpty, setMissing, setRoundedResources } from "../defaults.ts";
import { deprecatedExpressionWarnings, hasInvalidSelectorValue } from "./node-selector.ts";
import { volumeSpecErrors } from "./volume-spec.ts";
import type { ReleaseGates } from "../../release-gates.ts";
import { internalValue, isSameInternal } from "../internal-version/internal-value.ts";
import { goJsonLines } from "../../../meta/go-json.ts";

const ATTRIBUTES_CLASS = "volumeAttributesClassName";
const MOUNT_OPTIONS_ANNOTATION = "volume.beta.kubernetes.io/mount-options";

export const PERSISTENT_VOLUME: Kind = {
  setDefaults: setVolumeDefaults,
  prepareCreate(volume, { time, gates }) {
    addFinalizer(volume, "kubernetes.io/pv-protection");
    dropAttributesClass(objectAt(volume, "spec"), undefined, gates);
    const since = gates.isOn("PersistentVolumeLastPhaseTransitionTime") ? { lastPhaseTransitionTime: time } : {};
    volume["status"] = { phase: "Pending", ...since };
  },
  prepareUpdate(volume, existing, { gates }) {
    dropAttributesClass(objectAt(volume, "spec"), objectAt(existing, "spec"), gates);
  },
  prepareStatusUpdate: setTransitionTime,
  *createErrors(volume, context) {
    yield* volumeErrors(volume, undefined, context);
    yield* mountOptionErrors(volume);
  },
  *updateErrors(volume, existing, context) {
    yield* volumeErrors(volume, existing, context);
    yield* mountOptionErrors(volume);
    // As kubernetes: an update runs the checks of a create twice.
    yield* volumeErrors(volume, existing, context);
    yield* changeErrors(objectAt(volume, "spec"), objectAt(existing, "spec"), context);
  },
  warnings: volumeWarnings,
};

function setVolumeDefaults(volume: JsonObject): void {
  setEmpty(ownStruct(volume, "status"), { phase: "Pending" });
  const spec = ownStruct(volume, "spec");
  setEmpty(spec, { persistentVolumeReclaimPolicy: "Retain" });
  setMissing(spec, { volumeMode: "Filesystem" });
  setRoundedResources(spec, "capacity");
  setVolumeSourceDefaults(spec);
}

const SOURCE_DEFAULTS: readonly (readonly [key: string, defaults: JsonObject])[] = [
  ["hostPath", { type: "" }],
  ["azureFile", { secretNamespace: null }],
  ["iscsi", { lun: 0 }],
  ["scaleIO", { secretRef: null }],
];

/** Sets defaults in place, also for the sources in the specs of VolumeAttachments. */
export function setVolumeSourceDefaults(spec: JsonObject): void {
  for (const [key, defaults] of SOURCE_DEFAULTS) {
    const source = spec[key];
    if (isJsonObject(source)) setMissing(source, defaults);
  }
  setRemoteDefaults(spec);
}

function dropAttributesClass(spec: JsonObject, before: JsonObject | undefined, gates: ReleaseGates): void {
  if (!gates.isOn("VolumeAttributesClass") && before?.[ATTRIBUTES_CLASS] === undefined) delete spec[ATTRIBUTES_CLASS];
}

/**
 * Sets the transition time of a changed phase to the current time, unless the update sets one; keeps the stored time of
 * an unchanged phase.
 */
function setTransitionTime(volume: JsonObject, existing: JsonObject, { time, gates }: KindContext): void {
  const status = ownStruct(volume, "status");
  setEmpty(status, { phase: "Pending" });
  if (!gates.isOn("PersistentVolumeLastPhaseTransitionTime")) return;
  const before = objectAt(existing, "status");
  const said = status["lastPhaseTransitionTime"];
  const known = before["lastPhaseTransitionTime"];
  const isSamePhase = stringAt(status, "phase") === stringAt(before, "phase");
  if (isSamePhase && said === undefined && known !== undefined) status["lastPhaseTransitionTime"] = known;
  if (!isSamePhase && (said === undefined || said === known)) status["lastPhaseTransitionTime"] = time;
}

function* volumeErrors(
  volume: JsonObject,
  existing: JsonObject | undefined,
  { gates }: KindContext,
): Generator<FieldError> {
  const before = objectAt(existing ?? {}, "spec");
  yield* volumeSpecErrors(objectAt(volume, "spec"), "spec", {
    volumeName: stringAt(objectAt(volume, "metadata"), "name"),
    hasAttributesClass: gates.isOn("VolumeAttributesClass") || before[ATTRIBUTES_CLASS] !== undefined,
    allowsInvalidAffinityValues: hasInvalidSelectorValue(objectAt(objectAt(before, "nodeAffinity"), "required")),
  });
}

const MOUNTED_SOURCES: readonly string[] = [
  "gcePersistentDisk",
  "awsElasticBlockStore",
  "glusterfs",
  "nfs",
  "rbd",
  "quobyte",
  "iscsi",
  "cinder",
  "cephfs",
  "azureFile",
  "vsphereVolume",
  "azureDisk",
  "photonPersistentDisk",
];

function* mountOptionErrors(volume: JsonObject): Generator<FieldError> {
  const spec = objectAt(volume, "spec");
  if (MOUNTED_SOURCES.some((key) => spec[key] !== undefined)) return;
  if (Object.hasOwn(objectAt(objectAt(volume, "metadata"), "annotations"), MOUNT_OPTIONS_ANNOTATION))
    yield forbiddenField(
      `metadata.annotations.${MOUNT_OPTIONS_ANNOTATION}`,
      "may not specify mount options for this volume type",
    );
}

function* changeErrors(spec: JsonObject, before: JsonObject, { gates }: KindContext): Generator<FieldError> {
  const source = withoutNewExpandSecret(spec, before);
  if (!isSameInternal(source, before, "PersistentVolumeSource")) {
    const lines = (one: JsonObject): string[] => goJsonLines(internalValue(one, "PersistentVolumeSource"));
    yield forbiddenField(
      "spec.persistentvolumesource",
      `spec.persistentvolumesource is immutable after creation\n${unifiedDiff(lines(before), lines(source))}`,
    );
  }
  yield* immutableErrors(spec["volumeMode"], before["volumeMode"], "volumeMode");
  if (before["nodeAffinity"] !== undefined) yield* affinityChangeErrors(spec, before);
  if (spec[ATTRIBUTES_CLASS] === before[ATTRIBUTES_CLASS]) return;
  const field = `spec.${ATTRIBUTES_CLASS}`;
  if (!gates.isOn("VolumeAttributesClass"))
    yield forbiddenField(field, "update is forbidden when the VolumeAttributesClass feature gate is disabled");
  if (before[ATTRIBUTES_CLASS] !== undefined && spec[ATTRIBUTES_CLASS] === undefined)
    yield forbiddenField(field, "update from non-nil value to nil is forbidden");
}

/** Removes an added secret for expansion, the only field of a source that an update may add. */
function withoutNewExpandSecret(spec: JsonObject, before: JsonObject): JsonObject {
  if (spec["csi"] === undefined || before["csi"] === undefined) return spec;
  if (objectAt(before, "csi")["controllerExpandSecretRef"] !== undefined) return spec;
  const { controllerExpandSecretRef: _added, ...csi } = objectAt(spec, "csi");
  return { ...spec, csi };
}

const GENERAL_LABELS: ReadonlyMap<string, string> = new Map([
  ["failure-domain.beta.kubernetes.io/zone", "topology.kubernetes.io/zone"],
  ["failure-domain.beta.kubernetes.io/region", "topology.kubernetes.io/region"],
  ["beta.kubernetes.io/os", "kubernetes.io/os"],
  ["beta.kubernetes.io/arch", "kubernetes.io/arch"],
  ["beta.kubernetes.io/instance-type", "node.kubernetes.io/instance-type"],
]);

function* affinityChangeErrors(spec: JsonObject, before: JsonObject): Generator<FieldError> {
  const affinity = spec["nodeAffinity"];
  if (isSameInternal(affinity, withLabelsOf(before["nodeAffinity"], affinity), "*VolumeNodeAffinity")) return;
  yield invalidValue(
    "nodeAffinity",
    internalValue(affinity, "*VolumeNodeAffinity"),
    "field is immutable, except for updating from beta label to GA",
  );
}

/** The stored affinity in which deprecated labels are renamed if the new affinity uses their replacements. */
function withLabelsOf(before: unknown, after: unknown): unknown {
  const terms = objectsAt(objectAt(objectAt({ before }, "before"), "required"), "nodeSelectorTerms");
  const newTerms = objectsAt(objectAt(objectAt({ after }, "after"), "required"), "nodeSelectorTerms");
  const renamed = terms.map((term, index) => {
    const next = newTerms[index] ?? {};
    const result = { ...term };
    for (const part of ["matchExpressions", "matchFields"]) {
      const requirements = objectsAt(next, part);
      if (term[part] !== undefined)
        result[part] = objectsAt(term, part).map((one, at) => withKeyOf(one, requirements[at]));
    }
    return result;
  });
  return { required: { nodeSelectorTerms: renamed } };
}

function withKeyOf(requirement: JsonObject, next: JsonObject | undefined): JsonObject {
  const key = next === undefined ? "" : stringAt(next, "key");
  // As kubernetes: the key of a label without a replacement may become empty here; another check rejects the empty key.
  return (GENERAL_LABELS.get(stringAt(requirement, "key")) ?? "") === key ? { ...requirement, key } : requirement;
}

const DEPRECATED_SOURCES: readonly (readonly [key: string, field: string, why: string])[] = [
  ["cephfs", "cephfs", "deprecated in v1.28, non-functional in v1.31+"],
  ["photonPersistentDisk", "photonPersistentDisk", "deprecated in v1.11, non-functional in v1.16+"],
  ["scaleIO", "scaleIO", "deprecated in v1.16, non-functional in v1.22+"],
  ["storageos", "storageOS", "deprecated in v1.22, non-functional in v1.25+"],
  ["glusterfs", "glusterfs", "deprecated in v1.25, non-functional in v1.26+"],
  ["rbd", "rbd", "deprecated in v1.28, non-functional in v1.31+"],
];

function* volumeWarnings(volume: JsonObject): Generator<string> {
  const annotations = objectAt(objectAt(volume, "metadata"), "annotations");
  const deprecated = [
    ["volume.beta.kubernetes.io/storage-class", 'deprecated since v1.8; use "storageClassName" attribute instead'],
    [MOUNT_OPTIONS_ANNOTATION, 'deprecated since v1.31; use "mountOptions" attribute instead'],
  ] as const;
  for (const [key, why] of deprecated)
    if (Object.hasOwn(annotations, key)) yield `metadata.annotations[${key}]: ${why}`;
  const spec = objectAt(volume, "spec");
  if (spec["persistentVolumeReclaimPolicy"] === "Recycle")
    yield "spec.persistentVolumeReclaimPolicy: The Recycle reclaim policy is deprecated. Instead, the recommended approach is to use dynamic provisioning.";
  const selector = objectAt(objectAt(spec, "nodeAffinity"), "required");
  for (const [index, term] of objectsAt(selector, "nodeSelectorTerms").entries())
    yield* deprecatedExpressionWarnings(term, `spec.nodeAffinity.required.nodeSelectorTerms[${index}]`);
  for (const [key, field, why] of DEPRECATED_SOURCES) if (spec[key] !== undefined) yield `spec.${field}: ${why}`;
}
