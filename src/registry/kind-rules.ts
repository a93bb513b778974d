/** The few rules of single kinds that hold already; the rest of validation comes with full fidelity. */
import { jsonEquals, objectAt, type JsonObject } from "../meta/json.ts";
import type { FieldError } from "../meta/status-error.ts";
import { forbiddenField, invalidValue, required } from "./metadata-validation.ts";
import type { ServedResource } from "./resource.ts";
import { serviceErrors, serviceUpdateErrors } from "./services/service-rules.ts";
import {
  alphaMigrationErrors,
  alphaMigrationStatusErrors,
  alphaMigrationUpdateErrors,
} from "./storage-versions/migration-rules-alpha.ts";
import { migrationErrors, migrationStatusErrors, migrationUpdateErrors } from "./storage-versions/migration-rules.ts";
import { storageVersionErrors, storageVersionStatusErrors } from "./storage-versions/storage-version-rules.ts";

export interface KindRules {
  onCreate(object: JsonObject): FieldError[];
  onUpdate(object: JsonObject, existing: JsonObject): FieldError[];
  /** Of what comes in through the status door; absent: anything goes. */
  onStatusUpdate?(object: JsonObject, existing: JsonObject): FieldError[];
}

const NONE: KindRules = { onCreate: () => [], onUpdate: () => [] };

export function kindRules({ apiVersion, groupVersion, kind }: ServedResource): KindRules {
  return RULES.get(`${apiVersion}/${kind}`) ?? RULES.get(`${groupVersion.group}/${kind}`) ?? NONE;
}

/** Keys are "group/Kind", and "group/version/Kind" where a version has rules of its own; the core group is "". */
const RULES: ReadonlyMap<string, KindRules> = new Map<string, KindRules>([
  [
    "internal.apiserver.k8s.io/StorageVersion",
    { onCreate: storageVersionErrors, onUpdate: () => [], onStatusUpdate: storageVersionStatusErrors },
  ],
  [
    "storagemigration.k8s.io/StorageVersionMigration",
    { onCreate: migrationErrors, onUpdate: migrationUpdateErrors, onStatusUpdate: migrationStatusErrors },
  ],
  [
    "storagemigration.k8s.io/v1alpha1/StorageVersionMigration",
    {
      onCreate: alphaMigrationErrors,
      onUpdate: alphaMigrationUpdateErrors,
      onStatusUpdate: alphaMigrationStatusErrors,
    },
  ],
  ["/Service", { onCreate: serviceErrors, onUpdate: serviceUpdateErrors }],
  [
    "/ConfigMap",
    {
      onCreate: configMapErrors,
      onUpdate: (object, existing) => [
        ...immutabilityErrors(object, existing, ["data", "binaryData"]),
        ...configMapErrors(object),
      ],
    },
  ],
  [
    "/Secret",
    {
      onCreate: (object) => [...secretDataErrors(object), ...secretTypeErrors(object)],
      onUpdate: (object, existing) => [
        ...(object["type"] === existing["type"] ? [] : [invalidValue("type", object["type"], "field is immutable")]),
        ...immutabilityErrors(object, existing, ["data"]),
        ...secretDataErrors(object),
        ...secretTypeErrors(object),
      ],
    },
  ],
]);

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
  if (bytes <= DATA_BYTES_MAX) return [];
  return [{ field, reason: "FieldValueTooLong", message: `Too long: may not be more than ${DATA_BYTES_MAX} bytes` }];
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
