/** ConfigMaps and Secrets: named values. */
import { forbiddenField, invalidValue, required, tooLong } from "../../meta/field-errors.ts";
import { jsonEquals, objectAt, stringAt, type JsonObject } from "../../meta/json.ts";
import type { FieldError } from "../../meta/status-error.ts";
import type { Kind } from "../kind.ts";

export const CONFIG_MAP: Kind = {
  createErrors: configMapErrors,
  updateErrors: (object, existing) => [
    ...immutabilityErrors(object, existing, ["data", "binaryData"]),
    ...configMapErrors(object),
  ],
};

export const SECRET: Kind = {
  setDefaults: setSecretDefaults,
  createErrors: (object) => [...secretDataErrors(object), ...secretTypeErrors(object)],
  updateErrors: (object, existing) => [
    ...(object["type"] === existing["type"] ? [] : [invalidValue("type", object["type"], "field is immutable")]),
    ...immutabilityErrors(object, existing, ["data"]),
    ...secretDataErrors(object),
    ...secretTypeErrors(object),
  ],
};

/** stringData is a write-only convenience; a secret without a type is opaque. */
function setSecretDefaults(secret: JsonObject): void {
  const given = objectAt(secret, "stringData");
  delete secret["stringData"];
  const encoded = Object.keys(given).map((key): [string, string] => [
    key,
    Buffer.from(String(given[key])).toString("base64"),
  ]);
  if (encoded.length > 0) secret["data"] = { ...objectAt(secret, "data"), ...Object.fromEntries(encoded) };
  if (stringAt(secret, "type") === "") secret["type"] = "Opaque";
}

/** What the values of a config map or a secret may hold together. */
const DATA_BYTES_MAX = 1024 * 1024;

function configMapErrors(object: JsonObject): FieldError[] {
  const data = objectAt(object, "data");
  const binaryData = objectAt(object, "binaryData");
  const twice = Object.keys(data).filter((key) => Object.hasOwn(binaryData, key));
  const bytes = Object.values(data).reduce(
    (sum: number, value) => sum + Buffer.byteLength(String(value)),
    decodedBytes(binaryData),
  );
  return [
    ...keyErrors(object, ["data", "binaryData"]),
    ...twice.map((key) => invalidValue(`data[${key}]`, key, "duplicate of key present in binaryData")),
    // As kubernetes: the whole object is too long, and a field without a name is written like this.
    ...sizeErrors("[]", bytes),
  ];
}

function secretDataErrors(object: JsonObject): FieldError[] {
  return [...keyErrors(object, ["data"]), ...sizeErrors("data", decodedBytes(objectAt(object, "data")))];
}

function decodedBytes(values: JsonObject): number {
  return Object.values(values).reduce((sum: number, value) => sum + Buffer.byteLength(String(value), "base64"), 0);
}

function sizeErrors(field: string, bytes: number): FieldError[] {
  return bytes <= DATA_BYTES_MAX ? [] : [tooLong(field, DATA_BYTES_MAX)];
}

function immutabilityErrors(object: JsonObject, existing: JsonObject, fields: readonly string[]): FieldError[] {
  if (existing["immutable"] !== true) return [];
  const why = "field is immutable when `immutable` is set";
  const errors = object["immutable"] === true ? [] : [forbiddenField("immutable", why)];
  for (const field of fields)
    if (!jsonEquals(objectAt(object, field), objectAt(existing, field))) errors.push(forbiddenField(field, why));
  return errors;
}

const CONFIG_KEY = /^[-._a-zA-Z0-9]+$/;

function keyErrors(object: JsonObject, fields: readonly string[]): FieldError[] {
  return fields.flatMap((field) =>
    Object.keys(objectAt(object, field))
      .sort()
      .filter((key) => key.length > 253 || !CONFIG_KEY.test(key) || key === "." || key.startsWith(".."))
      .map((key) =>
        invalidValue(
          `${field}[${key}]`,
          key,
          "a valid config key must consist of alphanumeric characters, '-', '_' or '.' (e.g. 'key.name',  or 'KEY_NAME',  or 'key-name', regex used for validation is '[-._a-zA-Z0-9]+')",
        ),
      ),
  );
}

const REQUIRED_SECRET_KEYS: ReadonlyMap<string, readonly string[]> = new Map([
  ["kubernetes.io/tls", ["tls.crt", "tls.key"]],
  ["kubernetes.io/ssh-auth", ["ssh-privatekey"]],
  ["kubernetes.io/dockercfg", [".dockercfg"]],
  ["kubernetes.io/dockerconfigjson", [".dockerconfigjson"]],
]);

function secretTypeErrors(secret: JsonObject): FieldError[] {
  const data = objectAt(secret, "data");
  const keys = REQUIRED_SECRET_KEYS.get(String(secret["type"])) ?? [];
  return keys.filter((key) => data[key] === undefined).map((key) => required(`data[${key}]`));
}
