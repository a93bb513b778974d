/** Validation of the spec of a PersistentVolume, in the object itself and inline in a VolumeAttachment. */
import { posix } from "node:path";
import { forbiddenField, invalidValue, required, unsupportedValue } from "../../../meta/field-errors.ts";
import { objectAt, stringAt, stringsAt, type JsonObject } from "../../../meta/json.ts";
import { dnsSubdomainErrors } from "../../../meta/names.ts";
import type { FieldError } from "../../../meta/status-error.ts";
import { canonicalQuantity, nanosOf, unitsOf } from "../../../meta/quantity.ts";
import { nameErrors } from "../checks.ts";
import { nodeSelectorErrors } from "../pods/rules/scheduling-rules.ts";
import { volumeSourceErrors } from "./volume-sources.ts";
import { internalValue } from "../internal-version/internal-value.ts";

const ACCESS_MODES: readonly string[] = ["ReadOnlyMany", "ReadWriteMany", "ReadWriteOnce", "ReadWriteOncePod"];
const RECLAIM_POLICIES: readonly string[] = ["Delete", "Recycle", "Retain"];
const VOLUME_MODES: readonly string[] = ["Block", "Filesystem"];

interface VolumeSpecOptions {
  readonly volumeName: string;
  readonly hasAttributesClass: boolean;
  readonly allowsInvalidAffinityValues: boolean;
}

export function* volumeSpecErrors(spec: JsonObject, field: string, options: VolumeSpecOptions): Generator<FieldError> {
  if (stringsAt(spec, "accessModes").length === 0) yield required(`${field}.accessModes`);
  yield* accessModeErrors(spec, field);
  yield* capacityErrors(spec, `${field}.capacity`);
  const policy = stringAt(spec, "persistentVolumeReclaimPolicy");
  const policyField = `${field}.persistentVolumeReclaimPolicy`;
  if (!RECLAIM_POLICIES.includes(policy)) yield unsupportedValue(policyField, policy, RECLAIM_POLICIES);
  const hasNodeAffinity = spec["nodeAffinity"] !== undefined;
  if (hasNodeAffinity) yield* nodeAffinityErrors(spec, `${field}.nodeAffinity`, options);
  yield* volumeSourceErrors(spec, field, { volumeName: options.volumeName, hasNodeAffinity });
  yield* recycledRootErrors(spec, policyField);
  const storageClass = stringAt(spec, "storageClassName");
  if (storageClass !== "") yield* nameErrors(storageClass, `${field}.storageClassName`, dnsSubdomainErrors);
  yield* volumeModeErrors(spec, field);
  if (options.hasAttributesClass) yield* attributesClassErrors(spec, field);
}

export function* inlineVolumeSpecErrors(spec: JsonObject, field: string): Generator<FieldError> {
  const inline = "may not be specified in the context of inline volumes";
  if (spec["claimRef"] !== undefined) yield forbiddenField(`${field}.claimRef`, inline);
  if (Object.keys(objectAt(spec, "capacity")).length > 0) yield forbiddenField(`${field}.capacity`, inline);
  if (spec["csi"] === undefined) yield required(`${field}.csi`, "has to be specified in the context of inline volumes");
  if (stringsAt(spec, "accessModes").length === 0) yield required(`${field}.accessModes`);
  yield* accessModeErrors(spec, field);
  const policy = stringAt(spec, "persistentVolumeReclaimPolicy");
  const policyField = `${field}.persistentVolumeReclaimPolicy`;
  if (policy !== "" && policy !== "Retain")
    yield forbiddenField(policyField, "may only be Retain in the context of inline volumes");
  if (spec["nodeAffinity"] !== undefined) yield forbiddenField(`${field}.nodeAffinity`, inline);
  yield* volumeSourceErrors(spec, field, { volumeName: "", hasNodeAffinity: false });
  yield* recycledRootErrors(spec, policyField);
  if (stringAt(spec, "storageClassName") !== "") yield forbiddenField(`${field}.storageClassName`, inline);
  const mode = spec["volumeMode"];
  if (mode !== undefined && mode !== "Filesystem")
    yield forbiddenField(
      `${field}.volumeMode`,
      "may not specify volumeMode other than Filesystem in the context of inline volumes",
    );
}

export function* accessModeErrors(spec: JsonObject, field: string): Generator<FieldError> {
  const modes = stringsAt(spec, "accessModes");
  const at = `${field}.accessModes`;
  for (const mode of modes) if (!ACCESS_MODES.includes(mode)) yield unsupportedValue(at, mode, ACCESS_MODES);
  const isShared = modes.some((mode) => mode !== "ReadWriteOncePod" && ACCESS_MODES.includes(mode));
  if (isShared && modes.includes("ReadWriteOncePod"))
    yield forbiddenField(at, "may not use ReadWriteOncePod with other access modes");
}

export function* volumeModeErrors(spec: JsonObject, field: string): Generator<FieldError> {
  const mode = spec["volumeMode"];
  if (typeof mode === "string" && !VOLUME_MODES.includes(mode))
    yield unsupportedValue(`${field}.volumeMode`, mode, VOLUME_MODES);
}

function* capacityErrors(spec: JsonObject, field: string): Generator<FieldError> {
  const capacity = objectAt(spec, "capacity");
  const resources = Object.keys(capacity).sort();
  if (resources.length === 0) yield required(field);
  if (!Object.hasOwn(capacity, "storage") || resources.length > 1)
    yield unsupportedValue(field, internalValue(spec["capacity"], "{}q"), ["storage"]);
  for (const resource of resources) {
    yield* basicQuantityErrors(capacity[resource], `${field}[${resource}]`);
    yield* positiveQuantityErrors(capacity[resource], `${field}[${resource}]`);
  }
}

export function* basicQuantityErrors(value: unknown, field: string): Generator<FieldError> {
  const nanos = nanosOf(value);
  if (nanos < 0n) yield invalidValue(field, Number(unitsOf(nanos)), "must be a valid resource quantity");
}

export function* positiveQuantityErrors(value: unknown, field: string): Generator<FieldError> {
  if (nanosOf(value) <= 0n) yield invalidValue(field, canonicalQuantity(String(value)), "must be greater than zero");
}

function* nodeAffinityErrors(spec: JsonObject, field: string, options: VolumeSpecOptions): Generator<FieldError> {
  const { required: selector } = objectAt(spec, "nodeAffinity");
  if (selector === undefined) yield required(`${field}.required`, "must specify required node constraints");
  else
    yield* nodeSelectorErrors(objectAt(objectAt(spec, "nodeAffinity"), "required"), `${field}.required`, {
      allowsInvalidValues: options.allowsInvalidAffinityValues,
    });
}

function* recycledRootErrors(spec: JsonObject, field: string): Generator<FieldError> {
  if (spec["hostPath"] === undefined || stringAt(spec, "persistentVolumeReclaimPolicy") !== "Recycle") return;
  if (posix.normalize(stringAt(objectAt(spec, "hostPath"), "path")) === "/")
    yield forbiddenField(field, "may not be 'recycle' for a hostPath mount of '/'");
}

function* attributesClassErrors(spec: JsonObject, field: string): Generator<FieldError> {
  const name = spec["volumeAttributesClassName"];
  if (typeof name !== "string") return;
  const at = `${field}.volumeAttributesClassName`;
  if (name === "") yield required(at, "an empty string is disallowed");
  else yield* nameErrors(name, at, dnsSubdomainErrors);
  if (spec["csi"] === undefined)
    yield required(`${field}.csi`, "has to be specified when using volumeAttributesClassName");
}
