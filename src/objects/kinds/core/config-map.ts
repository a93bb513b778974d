/** Validation of ConfigMaps. */
import { forbiddenField, invalidValue, tooLong } from "../../../meta/field-errors.ts";
import { jsonEquals, objectAt, type JsonObject } from "../../../meta/json.ts";
import type { FieldError } from "../../../meta/status-error.ts";
import type { Kind } from "../kind.ts";
import { configKeyErrors, isPlainConfigKey } from "./name-checks.ts";

export const CONFIG_MAP: Kind = {
  createErrors: configMapErrors,
  *updateErrors(configMap, existing) {
    yield* immutableDataErrors(configMap, existing, ["data", "binaryData"]);
    yield* configMapErrors(configMap);
  },
};

/** Maximum size of all values of a ConfigMap or Secret together. */
const DATA_BYTES_MAX = 1024 * 1024;

function* configMapErrors(configMap: JsonObject): Generator<FieldError> {
  const data = objectAt(configMap, "data");
  const binaryData = objectAt(configMap, "binaryData");
  for (const key of suspiciousKeys(data, binaryData)) {
    yield* dataKeyErrors(key, `data[${key}]`);
    if (Object.hasOwn(binaryData, key))
      yield invalidValue(`data[${key}]`, key, "duplicate of key present in binaryData");
  }
  for (const key of suspiciousKeys(binaryData)) yield* dataKeyErrors(key, `binaryData[${key}]`);
  let textBytes = 0;
  for (const key of Object.keys(data)) textBytes += Buffer.byteLength(String(data[key]));
  // As kubernetes: the error is about the whole object, whose empty path is written as `[]`.
  yield* dataSizeErrors("[]", textBytes + decodedBytes(binaryData));
}

/** The sorted keys that may be invalid, or that `other` contains too. There are hardly ever any. */
export function suspiciousKeys(data: JsonObject, other: JsonObject = {}): string[] {
  return Object.keys(data)
    .filter((key) => !isPlainConfigKey(key) || Object.hasOwn(other, key))
    .sort();
}

export function* dataKeyErrors(key: string, field: string): Generator<FieldError> {
  for (const sentence of configKeyErrors(key)) yield invalidValue(field, key, sentence);
}

export function* dataSizeErrors(field: string, bytes: number): Generator<FieldError> {
  if (bytes > DATA_BYTES_MAX) yield tooLong(field, DATA_BYTES_MAX);
}

/** The number of bytes that base64 values decode to. */
export function decodedBytes(values: JsonObject): number {
  let bytes = 0;
  for (const key of Object.keys(values)) bytes += Buffer.byteLength(String(values[key]), "base64");
  return bytes;
}

export function* immutableDataErrors(
  object: JsonObject,
  existing: JsonObject,
  fields: readonly string[],
): Generator<FieldError> {
  if (existing["immutable"] !== true) return;
  const why = "field is immutable when `immutable` is set";
  if (object["immutable"] !== true) yield forbiddenField("immutable", why);
  for (const field of fields)
    if (!jsonEquals(objectAt(object, field), objectAt(existing, field))) yield forbiddenField(field, why);
}
