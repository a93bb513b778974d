/** Validation of the spec of a PersistentVolumeClaim. */
import { invalidValue, required } from "../../../meta/field-errors.ts";
import { objectAt, stringAt, stringsAt, type JsonObject } from "../../../meta/json.ts";
import { dnsLabelErrors, dnsSubdomainErrors } from "../../../meta/names.ts";
import type { FieldError } from "../../../meta/status-error.ts";
import { labelSelectorErrors, nameErrors } from "../checks.ts";
import { accessModeErrors, positiveQuantityErrors, volumeModeErrors } from "./volume-spec.ts";

/**
 * Options that depend on the release and, on an update, on the stored claim, whose values remain valid even if they are
 * older than a check.
 */
export interface ClaimSpecOptions {
  readonly hasAttributesClass: boolean;
  readonly allowsInvalidApiGroup: boolean;
  readonly allowsInvalidSelectorValues: boolean;
}

export function* claimSpecErrors(spec: JsonObject, field: string, options: ClaimSpecOptions): Generator<FieldError> {
  if (stringsAt(spec, "accessModes").length === 0)
    yield required(`${field}.accessModes`, "at least 1 access mode is required");
  if (spec["selector"] !== undefined) yield* selectorErrors(spec, field, options);
  yield* accessModeErrors(spec, field);
  const { storage } = objectAt(objectAt(spec, "resources"), "requests");
  if (storage === undefined) yield required(`${field}.resources[storage]`);
  else yield* positiveQuantityErrors(storage, `${field}.resources[storage]`);
  yield* classNameErrors(spec, field, "storageClassName");
  yield* volumeModeErrors(spec, field);
  yield* dataSourceErrors(spec, field, options);
  if (options.hasAttributesClass) yield* classNameErrors(spec, field, "volumeAttributesClassName");
}

function* selectorErrors(spec: JsonObject, field: string, options: ClaimSpecOptions): Generator<FieldError> {
  for (const error of labelSelectorErrors(objectAt(spec, "selector"), `${field}.selector`)) {
    const isAboutValue = /\.values\[\d+\]$/.test(error.field);
    if (!isAboutValue || !options.allowsInvalidSelectorValues) yield error;
  }
}

function* classNameErrors(spec: JsonObject, field: string, key: string): Generator<FieldError> {
  const name = stringAt(spec, key);
  if (name !== "") yield* nameErrors(name, `${field}.${key}`, dnsSubdomainErrors);
}

function* dataSourceErrors(spec: JsonObject, field: string, options: ClaimSpecOptions): Generator<FieldError> {
  const { dataSource, dataSourceRef } = spec;
  if (dataSource !== undefined) yield* referenceErrors(objectAt(spec, "dataSource"), `${field}.dataSource`, options);
  const ref = objectAt(spec, "dataSourceRef");
  const namespace = stringAt(ref, "namespace");
  if (dataSourceRef !== undefined) {
    yield* referenceErrors(ref, `${field}.dataSourceRef`, options);
    if (namespace !== "") yield* nameErrors(namespace, `${field}.dataSourceRef.namespace`, dnsLabelErrors);
  }
  if (dataSource === undefined || dataSourceRef === undefined) return;
  // As kubernetes: it passes the path of a field as the value, which the error shows as an empty struct.
  if (namespace !== "") yield invalidValue(field, {}, "may not be specified when dataSourceRef.namespace is specified");
  else if (!isSameReference(objectAt(spec, "dataSource"), ref))
    yield invalidValue(field, {}, "must match dataSourceRef");
}

function isSameReference(source: JsonObject, ref: JsonObject): boolean {
  return (
    (source["apiGroup"] ?? null) === (ref["apiGroup"] ?? null) &&
    ["kind", "name"].every((key) => stringAt(source, key) === stringAt(ref, key))
  );
}

function* referenceErrors(source: JsonObject, field: string, options: ClaimSpecOptions): Generator<FieldError> {
  if (stringAt(source, "name") === "") yield required(`${field}.name`);
  const kind = stringAt(source, "kind");
  if (kind === "") yield required(`${field}.kind`);
  const group = stringAt(source, "apiGroup");
  if (group === "" && kind !== "PersistentVolumeClaim")
    yield invalidValue(field, kind, "must be 'PersistentVolumeClaim' when referencing the default apiGroup");
  if (group !== "" && !options.allowsInvalidApiGroup) yield* nameErrors(group, `${field}.apiGroup`, dnsSubdomainErrors);
}
