/**
 * Defaults, validation and warnings of PersistentVolumeClaims, whose spec is immutable except for the requested size
 * and the attributes class.
 */
import { forbiddenField, invalidValue, required, unsupportedValue } from "../../../meta/field-errors.ts";
import { isJsonObject, objectAt, stringAt, type JsonObject } from "../../../meta/json.ts";
import { qualifiedNameErrors } from "../../../meta/names.ts";
import type { FieldError } from "../../../meta/status-error.ts";
import { canonicalQuantity, millisOf, nanosOf } from "../../../meta/quantity.ts";
import { immutableErrors, labelSelectorErrors } from "../checks.ts";
import type { Kind, KindContext } from "../kind.ts";
import { unifiedDiff } from "../internal-version/unified-diff.ts";
import { claimSpecErrors, type ClaimSpecOptions } from "./claim-spec.ts";
import {
  addFinalizer,
  ownPointer,
  ownStruct,
  setEmpty,
  setMissing,
  setMissingInItems,
  setRoundedResources,
} from "../defaults.ts";
import { basicQuantityErrors } from "./volume-spec.ts";
import type { ReleaseGates } from "../../release-gates.ts";
import { internalValue, isSameInternal } from "../internal-version/internal-value.ts";
import { goJsonLines } from "../../../meta/go-json.ts";
import { isNativeResource } from "../core/resource-amounts.ts";

const CLASS_ANNOTATION = "volume.beta.kubernetes.io/storage-class";
const ATTRIBUTES_CLASS = "volumeAttributesClassName";

export const PERSISTENT_VOLUME_CLAIM: Kind = {
  setDefaults(claim) {
    setStatusDefaults(claim);
    const spec = ownStruct(claim, "spec");
    setMissing(spec, { volumeMode: "Filesystem" });
    for (const key of ["dataSource", "dataSourceRef"]) {
      const source = ownPointer(spec, key);
      if (source !== undefined) setMissing(source, { apiGroup: null, kind: "", name: "" });
    }
    const resources = ownStruct(spec, "resources");
    for (const key of ["requests", "limits"]) setRoundedResources(resources, key);
  },
  completeStored: (claim) => fillInDataSources(ownStruct(claim, "spec")),
  prepareCreate(claim, context) {
    addFinalizer(claim, "kubernetes.io/pvc-protection");
    claim["status"] = { phase: "Pending" };
    prepareSpec(objectAt(claim, "spec"), undefined, context);
  },
  prepareUpdate(claim, existing, context) {
    prepareSpec(objectAt(claim, "spec"), objectAt(existing, "spec"), context);
  },
  prepareStatusUpdate: setStatusDefaults,
  createErrors: (claim, { gates }) =>
    claimSpecErrors(objectAt(claim, "spec"), "spec", {
      hasAttributesClass: gates.isOn("VolumeAttributesClass"),
      allowsInvalidApiGroup: false,
      allowsInvalidSelectorValues: false,
    }),
  updateErrors: claimUpdateErrors,
  statusUpdateErrors: claimStatusErrors,
  warnings: claimWarnings,
};

function setStatusDefaults(claim: JsonObject): void {
  const status = ownStruct(claim, "status");
  setEmpty(status, { phase: "Pending" });
  for (const key of ["capacity", "allocatedResources"]) setRoundedResources(status, key);
  setMissingInItems(status, "conditions", { type: "", status: "", lastProbeTime: null, lastTransitionTime: null });
  const modification = ownPointer(status, "modifyVolumeStatus");
  if (modification !== undefined) setMissing(modification, { status: "" });
}

function prepareSpec(spec: JsonObject, before: JsonObject | undefined, { gates }: KindContext): void {
  if (!gates.isOn("VolumeAttributesClass") && before?.[ATTRIBUTES_CLASS] === undefined) delete spec[ATTRIBUTES_CLASS];
  // A source in another namespace needs a feature gate that is off by default in every release.
  const isElsewhere = stringAt(objectAt(spec, "dataSourceRef"), "namespace") !== "";
  if (isElsewhere && before?.["dataSourceRef"] === undefined) delete spec["dataSourceRef"];
  const hadSource = before?.["dataSource"] !== undefined || before?.["dataSourceRef"] !== undefined;
  if (!hadSource && spec["dataSourceRef"] === undefined && !isKnownSource(objectAt(spec, "dataSource")))
    delete spec["dataSource"];
  fillInDataSources(spec);
}

function isKnownSource(source: JsonObject): boolean {
  const group = stringAt(source, "apiGroup");
  const kind = stringAt(source, "kind");
  return (
    (kind === "PersistentVolumeClaim" && group === "") ||
    (kind === "VolumeSnapshot" && group === "snapshot.storage.k8s.io")
  );
}

/** Copies the data source to the other field if only one of the two fields is set. */
function fillInDataSources(spec: JsonObject): void {
  const { dataSource, dataSourceRef } = spec;
  if (isJsonObject(dataSource) && dataSourceRef === undefined) spec["dataSourceRef"] = reference(dataSource);
  else if (isJsonObject(dataSourceRef) && dataSource === undefined && stringAt(dataSourceRef, "namespace") === "")
    spec["dataSource"] = reference(dataSourceRef);
}

function reference(source: JsonObject): JsonObject {
  const { apiGroup, kind, name } = source;
  return { apiGroup: apiGroup ?? null, kind: kind ?? "", name: name ?? "" };
}

function* claimUpdateErrors(claim: JsonObject, existing: JsonObject, { gates }: KindContext): Generator<FieldError> {
  const spec = objectAt(claim, "spec");
  const before = objectAt(existing, "spec");
  yield* claimSpecErrors(spec, "spec", optionsFor(before, gates));
  yield* immutabilityErrors(claim, existing);
  yield* sizeErrors(claim, existing, gates);
  yield* immutableErrors(spec["volumeMode"], before["volumeMode"], "volumeMode");
  yield* attributesClassErrors(spec, existing, gates);
}

function optionsFor(before: JsonObject, gates: ReleaseGates): ClaimSpecOptions {
  const hasGroup = ["dataSource", "dataSourceRef"].some((key) => typeof objectAt(before, key)["apiGroup"] === "string");
  const selectorErrors = labelSelectorErrors(objectAt(before, "selector"), "");
  return {
    hasAttributesClass: gates.isOn("VolumeAttributesClass") || before[ATTRIBUTES_CLASS] !== undefined,
    allowsInvalidApiGroup: hasGroup,
    allowsInvalidSelectorValues: selectorErrors.next().done !== true,
  };
}

/** As kubernetes: compares both specs after copying the mutable fields from one to the other. */
function* immutabilityErrors(claim: JsonObject, existing: JsonObject): Generator<FieldError> {
  const spec = { ...objectAt(claim, "spec") };
  const before = { ...objectAt(existing, "spec") };
  fillInDataSources(before);
  if (stringAt(before, "volumeName") === "") before["volumeName"] = spec["volumeName"];
  const annotation = classAnnotation(claim);
  const known = classAnnotation(existing);
  const [newClass, oldClass] = [spec["storageClassName"], before["storageClassName"]];
  if (isFromAnnotation({ known, annotation, newClass, oldClass })) delete spec["storageClassName"];
  else {
    if ((annotation ?? "") !== (known ?? ""))
      yield invalidValue(`metadata.annotations.${CLASS_ANNOTATION}`, annotation ?? "", "field is immutable");
    if (newClass !== undefined && oldClass === undefined && (known === undefined || newClass === known))
      delete spec["storageClassName"];
  }
  if (stringAt(objectAt(claim, "status"), "phase") === "Bound") takeOverMutable(spec, before);
  if (isSameInternal(spec, before, "PersistentVolumeClaimSpec")) return;
  const lines = (one: JsonObject): string[] => goJsonLines(internalValue(one, "PersistentVolumeClaimSpec"));
  yield forbiddenField(
    "spec",
    `spec is immutable after creation except resources.requests and volumeAttributesClassName for bound claims\n${unifiedDiff(lines(before), lines(spec))}`,
  );
}

function classAnnotation(claim: JsonObject): string | undefined {
  const annotations = objectAt(objectAt(claim, "metadata"), "annotations");
  return Object.hasOwn(annotations, CLASS_ANNOTATION) ? stringAt(annotations, CLASS_ANNOTATION) : undefined;
}

/** Whether an update moves the storage class from the annotation to its field. */
function isFromAnnotation(says: {
  readonly known: string | undefined;
  readonly annotation: string | undefined;
  readonly newClass: unknown;
  readonly oldClass: unknown;
}): boolean {
  const { known, annotation, newClass, oldClass } = says;
  return (
    known !== undefined &&
    oldClass === undefined &&
    newClass === known &&
    (annotation === undefined || annotation === known)
  );
}

function takeOverMutable(spec: JsonObject, before: JsonObject): void {
  const resources = objectAt(spec, "resources");
  if (resources["requests"] !== undefined) {
    const storage = requestOf(before) ?? "0";
    spec["resources"] = { ...resources, requests: { ...objectAt(resources, "requests"), storage } };
  }
  if (before[ATTRIBUTES_CLASS] === undefined) delete spec[ATTRIBUTES_CLASS];
  else spec[ATTRIBUTES_CLASS] = before[ATTRIBUTES_CLASS];
}

function requestOf(spec: JsonObject): unknown {
  return objectAt(objectAt(spec, "resources"), "requests")["storage"];
}

/**
 * A claim can shrink only to a size above its capacity, and only if the release supports recovery from a failed
 * expansion or the status of the claim already records allocated resources.
 */
function* sizeErrors(claim: JsonObject, existing: JsonObject, gates: ReleaseGates): Generator<FieldError> {
  const size = nanosOf(requestOf(objectAt(claim, "spec")));
  if (size >= nanosOf(requestOf(objectAt(existing, "spec")))) return;
  const field = "spec.resources.requests.storage";
  const status = objectAt(existing, "status");
  const isRecoverable =
    gates.isOn("RecoverVolumeExpansionFailure") ||
    status["allocatedResources"] !== undefined ||
    status["allocatedResourceStatuses"] !== undefined;
  if (!isRecoverable) yield forbiddenField(field, "field can not be less than previous value");
  else if (size <= nanosOf(objectAt(status, "capacity")["storage"]))
    yield forbiddenField(field, "field can not be less than status.capacity");
}

function* attributesClassErrors(spec: JsonObject, existing: JsonObject, gates: ReleaseGates): Generator<FieldError> {
  const name = spec[ATTRIBUTES_CLASS];
  const before = objectAt(existing, "spec")[ATTRIBUTES_CLASS];
  if (name === before) return;
  const field = `spec.${ATTRIBUTES_CLASS}`;
  if (!gates.isOn("VolumeAttributesClass"))
    yield forbiddenField(field, "update is forbidden when the VolumeAttributesClass feature gate is disabled");
  if (objectAt(existing, "status")["currentVolumeAttributesClassName"] === undefined) return;
  const because = "is forbidden when status.currentVolumeAttributesClassName is not nil";
  if (name === undefined) yield forbiddenField(field, `update to nil ${because}`);
  else if (name === "") yield forbiddenField(field, `update to empty string ${because}`);
}

const RESIZE_STATUSES: readonly string[] = [
  "ControllerResizeInProgress",
  "ControllerResizeInfeasible",
  "NodeResizeInProgress",
  "NodeResizeInfeasible",
  "NodeResizePending",
];

function* claimStatusErrors(claim: JsonObject): Generator<FieldError> {
  const status = objectAt(claim, "status");
  // As kubernetes: the path begins with a capital letter.
  if (objectAt(claim, "spec")["accessModes"] === undefined) yield required("Spec.accessModes");
  const capacity = objectAt(status, "capacity");
  for (const key of Object.keys(capacity).sort()) yield* basicQuantityErrors(capacity[key], `status.capacity[${key}]`);
  const statuses = objectAt(status, "allocatedResourceStatuses");
  for (const key of Object.keys(statuses).sort()) {
    yield* resourceKeyErrors(key, "status.allocatedResourceStatuses");
    if (!RESIZE_STATUSES.includes(String(statuses[key])))
      yield unsupportedValue("status.allocatedResourceStatuses", key, RESIZE_STATUSES);
  }
  const allocated = objectAt(status, "allocatedResources");
  for (const key of Object.keys(allocated).sort()) {
    const errors = [...resourceKeyErrors(key, "status.allocatedResources")];
    yield* errors;
    if (errors.length === 0) yield* basicQuantityErrors(allocated[key], `status.allocatedResources[${key}]`);
  }
}

function* resourceKeyErrors(key: string, field: string): Generator<FieldError> {
  const sentences = qualifiedNameErrors(key);
  for (const sentence of sentences) yield invalidValue(field, key, sentence);
  if (sentences.length > 0) return;
  if (isNativeResource(key) && key !== "storage") yield unsupportedValue(field, key, ["storage"]);
}

function* claimWarnings(claim: JsonObject): Generator<string> {
  if (classAnnotation(claim) !== undefined)
    yield `metadata.annotations[${CLASS_ANNOTATION}]: deprecated since v1.8; use "storageClassName" attribute instead`;
  const resources = objectAt(objectAt(claim, "spec"), "resources");
  for (const part of ["requests", "limits"]) {
    const storage = objectAt(resources, part)["storage"];
    if (millisOf(nanosOf(storage)) % 1000n !== 0n)
      yield `spec.resources.${part}[storage]: fractional byte value ${JSON.stringify(canonicalQuantity(String(storage)))} is invalid, must be an integer`;
  }
}
