/** Checks that volume sources share. */
import { invalidValue, required } from "../../../meta/field-errors.ts";
import { numberAt, objectAt, stringAt, type JsonObject } from "../../../meta/json.ts";
import { dnsLabelErrors, dnsSubdomainErrors } from "../../../meta/names.ts";
import type { FieldError } from "../../../meta/status-error.ts";
import { nameErrors } from "../checks.ts";

/** Checks that the string fields `keys` are not empty. */
export function* requiredTextErrors(source: JsonObject, field: string, keys: readonly string[]): Generator<FieldError> {
  for (const key of keys) if (stringAt(source, key) === "") yield required(`${field}.${key}`);
}

/** Checks the range of a number; an absent number counts as zero. */
export function* rangeErrors(
  source: JsonObject,
  field: string,
  { key, max, sentence }: { readonly key: string; readonly max: number; readonly sentence: string },
): Generator<FieldError> {
  const value = numberAt(source, key) ?? 0;
  if (value < 0 || value > max) yield invalidValue(`${field}.${key}`, value, sentence);
}

/** Checks that the name and namespace of a secret are not empty. */
export function* namedSecretErrors(source: JsonObject, field: string): Generator<FieldError> {
  if (source["secretRef"] === undefined) return;
  yield* requiredTextErrors(objectAt(source, "secretRef"), `${field}.secretRef`, ["name", "namespace"]);
}

export function* secretReferenceErrors(source: JsonObject, field: string, key: string): Generator<FieldError> {
  if (source[key] === undefined) return;
  const { name, namespace } = { name: "", namespace: "", ...objectAt(source, key) };
  if (name === "") yield required(`${field}.${key}.name`);
  else yield* nameErrors(name, `${field}.${key}.name`, dnsSubdomainErrors);
  if (namespace === "") yield required(`${field}.${key}.namespace`);
  else yield* nameErrors(namespace, `${field}.${key}.namespace`, dnsLabelErrors);
}
