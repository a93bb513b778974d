/** The few rules of single kinds that hold already; the rest of validation comes with full fidelity. */
import { jsonEquals, objectAt, type JsonObject } from "../meta/json.ts";
import type { FieldError } from "../meta/status-error.ts";
import { forbiddenField, invalidValue, required } from "./metadata-validation.ts";
import type { ServedResource } from "./resource.ts";

export interface KindRules {
  onCreate(object: JsonObject): FieldError[];
  onUpdate(object: JsonObject, existing: JsonObject): FieldError[];
}

const NONE: KindRules = { onCreate: () => [], onUpdate: () => [] };

export function kindRules(served: ServedResource): KindRules {
  if (served.groupVersion.group !== "") return NONE;
  return CORE_RULES.get(served.kind) ?? NONE;
}

const CORE_RULES: ReadonlyMap<string, KindRules> = new Map<string, KindRules>([
  [
    "ConfigMap",
    {
      onCreate: (object) => keyErrors(object, ["data", "binaryData"]),
      onUpdate: (object, existing) => [...immutabilityErrors(object, existing, ["data", "binaryData"]), ...keyErrors(object, ["data", "binaryData"])],
    },
  ],
  [
    "Secret",
    {
      onCreate: (object) => [...keyErrors(object, ["data"]), ...secretTypeErrors(object)],
      onUpdate: (object, existing) => [
        ...(object["type"] === existing["type"] ? [] : [invalidValue("type", object["type"], "field is immutable")]),
        ...immutabilityErrors(object, existing, ["data"]),
        ...keyErrors(object, ["data"]),
        ...secretTypeErrors(object),
      ],
    },
  ],
]);

function immutabilityErrors(object: JsonObject, existing: JsonObject, fields: readonly string[]): FieldError[] {
  if (existing["immutable"] !== true) return [];
  const why = "field is immutable when `immutable` is set";
  const errors = object["immutable"] === true ? [] : [forbiddenField("immutable", why)];
  for (const field of fields) if (!jsonEquals(objectAt(object, field), objectAt(existing, field))) errors.push(forbiddenField(field, why));
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
